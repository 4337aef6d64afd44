// The broker on a system that forbids everything except what the broker needs.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { askHttp } from '../testing/ask-http.ts'
import { batchOf, fetchOne, produceTo, valuesOf } from '../testing/kafka.ts'
import { leastPrivilege, leastPrivilegeAbsence, NOBODY } from '../testing/least-privilege.ts'
import { startBrokerProcess } from '../testing/process.ts'
import { createTopic } from '../testing/topic.ts'
import { connect } from '../testing/wire.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Returns the values of a line of `/proc/<pid>/status`. */
function statusOf(pid: number, name: string): string[] {
  const line = readFileSync(`/proc/${pid}/status`, 'utf8')
    .split('\n')
    .find(each => each.startsWith(`${name}:`))
  return line!.split(/\s+/).slice(1)
}

test('on a read-only system a broker without rights writes only to its data folder, and no other user can read that', async t => {
  const absence = leastPrivilegeAbsence()
  if (absence !== null) return t.skip(absence)
  const { folder, within } = await leastPrivilege(t)
  const attempt = 'for place in "$@"; do touch "$place/x" 2>/dev/null && rm "$place/x" && echo "$place"; done; true'
  const places = ['/', '/tmp', '/var/tmp', '/dev/shm', '/run', root, folder]
  const [command, ...args] = within(['sh', '-c', attempt, 'sh', ...places])
  const { stdout, stderr } = spawnSync(command!, args, { encoding: 'utf8' })
  assert.deepEqual([stdout, stderr], [`${folder}\n`, ''], 'nothing else can be written')

  const broker = await startBrokerProcess(t, { folder, within })
  assert.deepEqual(statusOf(broker.pid, 'Uid'), Array(4).fill(String(NOBODY)))
  assert.deepEqual(statusOf(broker.pid, 'CapPrm'), ['0000000000000000'])
  assert.deepEqual(statusOf(broker.pid, 'Umask'), ['0077'])
  await createTopic(broker, 't', 1)
  for (const life of [0, 1]) {
    const wire = await connect(broker)
    assert.equal((await produceTo(wire, batchOf([`life ${life}`]))).baseOffset, life)
    assert.deepEqual(
      await valuesOf(await fetchOne(wire, 0)),
      Array.from({ length: life + 1 }, (_, at) => [at, `life ${at}`]),
    )
    await wire.close()
    assert.equal((await askHttp(broker.url)('/actuator/health')).status, 'UP')
    for (const name of readdirSync(folder)) {
      const { mode, uid } = statSync(join(folder, name))
      assert.deepEqual([mode & 0o777, uid], [0o600, NOBODY], name)
    }
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    assert.equal(await broker.kill(life === 0 ? 'SIGKILL' : 'SIGTERM'), life === 0 ? null : 0)
    if (life === 0) await broker.start()
  }
  assert.doesNotMatch(broker.output(), /EROFS|EACCES|EPERM| ERROR /)
})

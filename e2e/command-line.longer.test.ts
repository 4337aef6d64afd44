// Tests of `./ketch` as a shell sees it: arguments in, text and exit statuses out.

import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { batchOf, produceTo } from '../testing/kafka.ts'
import { freePort, startBrokerProcess } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import { type Ended, runToEnd } from './command.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = `${root}ketch`
const PASSWORD = 'correct horse battery'

function ketch(line: string, env: Readonly<Record<string, string>> = {}, signalAt?: RegExp): Promise<Ended> {
  return run([bin, ...line.split(' ')], env, signalAt)
}

function run(command: readonly string[], env: object, signalAt?: RegExp): Promise<Ended> {
  return runToEnd(command, {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    onOut(out, child) {
      if (signalAt?.test(out)) child.kill('SIGINT')
    },
  })
}

test('the program that starts a broker also asks one, and its exit status tells the result', async t => {
  const port = await freePort()
  const broker = await startBrokerProcess(t, {
    settings: { 'server.port': String(port), 'svc.admin.password': PASSWORD },
  })
  const env = { KETCH_URL: `http://127.0.0.1:${port}`, KETCH_PASSWORD: PASSWORD }
  assert.deepEqual(await ketch('topics create orders --partitions=2', env), {
    status: 0,
    out: 'orders is created with 2 partitions.\n',
    err: '',
  })
  const listed = await ketch('topics list --json', env)
  assert.deepEqual(
    JSON.parse(listed.out).topics.map(({ name }: { name: string }) => name),
    ['orders'],
  )
  assert.equal((await run(['npx', 'ketch', 'topics', 'list', '--json'], { ...env, HOME: tmpdir() })).out, listed.out)
  const npm = await run(['npm', 'start', '--silent', '--', 'topics', 'list', '--json'], { ...env, HOME: tmpdir() })
  assert.equal(npm.out, listed.out)
  const wire = await connect({ port: broker.port })
  t.after(() => wire.close())
  const partitionData = [{ index: 0, records: batchOf(['first']) }]
  await produceTo(wire, null, { topicData: [{ name: 'orders', partitionData }] })
  const tail = await ketch('tail orders --last=5', env, /first/)
  assert.deepEqual([tail.status, tail.err], [0, ''])
  assert.equal((await ketch('topics create orders', env)).status, 1)
  assert.equal((await ketch('topics crate orders', env)).status, 2)
  assert.equal((await ketch('topics list', { ...env, KETCH_PASSWORD: 'wrong horse battery' })).status, 77)
  assert.equal((await ketch('topics list', { KETCH_URL: env.KETCH_URL })).status, 2)
  assert.equal((await ketch('health', { KETCH_URL: 'http://127.0.0.1:9' })).status, 69)
  assert.equal((await ketch('health', env)).out.split('\n')[0], 'UP')
  assert.equal((await ketch('--url=http://127.0.0.1:9 health')).status, 69)
  assert.match((await ketch('--help')).out, /ketch topics list/)
})

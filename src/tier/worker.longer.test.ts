// Tests the storage worker of real brokers on one Redis: one of them holds the lease, and another one takes over when
// it drains, is stopped or is killed. The broker that wakes changes nothing. lease.test.ts and worker.test.ts test the
// decisions on a simulated clock.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { adminClient } from '../../testing/admin-client.ts'
import { atLength } from '../../testing/at-length.ts'
import { eventually } from '../../testing/eventually.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { systemClock } from '../base/clock.ts'

const LEASE_MS = 4_000
const TICK_MS = 1_000
/** A busy machine needs longer than the lease and the tick. */
const SLACK_MS = 5_000

async function startThree(t: TestContext, settings: Readonly<Record<string, string>> = {}) {
  const { uri } = await startRedis(t)
  const start = (id: number) =>
    startBrokerProcess(t, {
      settings: {
        'svc.redis.uri': uri,
        'svc.broker.id': String(id),
        'svc.broker.expiry': '2s',
        'svc.admin.security-enabled': 'false',
        'svc.storage.worker.lease-duration': `${LEASE_MS}ms`,
        'svc.storage.worker.tick-interval': `${TICK_MS}ms`,
        ...settings,
      },
    })
  const brokers = [await start(1), await start(2), await start(3)]
  const made = await adminClient(brokers[0]!.url).ask('POST', '/api/v1/topics', { name: 'orders', partitions: 12 })
  assert.equal(made.status, 201)
  return brokers
}

const workerOf = async ({ url }: BrokerProcess) => (await adminClient(url).ask('GET', '/api/v1/storage/worker')).body

async function metricOf({ url }: BrokerProcess, name: RegExp): Promise<number> {
  const text = await (await fetch(`${url}/actuator/prometheus`)).text()
  return [...text.matchAll(name)].reduce((sum, [, value]) => sum + Number(value), 0)
}

/** Resolves with the broker that all of these brokers see as the holder. */
async function holderAmong(brokers: readonly BrokerProcess[], ids: readonly number[]): Promise<number> {
  let holder = 0
  await eventually(
    'the brokers agree on a holder among them',
    async () => {
      const seen = await Promise.all(brokers.map(async each => (await workerOf(each)).holder?.id))
      holder = seen[0]
      return ids.includes(holder) && new Set(seen).size === 1
    },
    LEASE_MS + TICK_MS + SLACK_MS,
  )
  return holder
}

const ups = (brokers: readonly BrokerProcess[]) =>
  Promise.all(brokers.map(each => metricOf(each, /^svc_storage_worker_up (\d)/gm)))

/** Resolves with the rows of a round that this broker was asked to run. */
async function roundAt({ url }: BrokerProcess) {
  const { status, body } = await adminClient(url).ask('POST', '/api/v1/storage/worker/run')
  assert.equal(status, 200, JSON.stringify(body))
  return body.round.brokers.map(({ id, outcome }: { id: number; outcome: string }) => [id, outcome])
}

test('one broker of three runs the worker, each broker starts its rounds, and a drained one gives the lease back', {
  skip: noRedis,
}, async t => {
  const brokers = await startThree(t, { 'svc.storage.worker.lease-duration': '10m' })
  const first = await holderAmong(brokers, [1, 2, 3])
  assert.deepEqual(
    await ups(brokers),
    brokers.map((_, at) => (at + 1 === first ? 1 : 0)),
  )
  for (const broker of brokers)
    await eventually('all three run their parts', async () => {
      const rows = await roundAt(broker)
      return rows.length === 3 && rows.every(([, outcome]: [number, string]) => outcome === 'done')
    })
  const [one, two] = await Promise.all(brokers.slice(0, 2).map(workerOf))
  assert.deepEqual(
    [one.enabled, one.leaseDurationMs, one.isCleaningAllowed, one.withoutFeature],
    [true, 600_000, true, []],
  )
  assert.deepEqual(one.holder, two.holder)
  assert(one.lastRound.number > 0 && two.lastRound.number > 0)

  const rest = brokers.filter((_, at) => at + 1 !== first)
  const restIds = [1, 2, 3].filter(id => id !== first)
  assert.equal(await brokers[first - 1]!.kill('SIGTERM'), 0)
  // The lease lasts ten minutes, so the next holder did not wait for its end.
  const second = await holderAmong(rest, restIds)
  await eventually('the two run their parts', async () => {
    const rows = await roundAt(rest[0]!)
    return rows.length === 2 && rows.every(([, outcome]: [number, string]) => outcome === 'done')
  })
  assert.notEqual(second, first)
})

for (const signal of atLength(['SIGSTOP', 'SIGKILL'] as const, ['SIGSTOP'] as const)) {
  test(`a holder that gets ${signal} is replaced within a lease and a tick, and changes nothing when it wakes`, {
    skip: noRedis,
  }, async t => {
    const brokers = await startThree(t)
    const first = await holderAmong(brokers, [1, 2, 3])
    const stopped = brokers[first - 1]!
    const rest = brokers.filter(each => each !== stopped)
    const fromMs = systemClock.monotonic()
    if (signal === 'SIGSTOP') stopped.pause()
    else await stopped.kill('SIGKILL')
    t.after(() => stopped.resume())
    const second = await holderAmong(
      rest,
      [1, 2, 3].filter(id => id !== first),
    )
    assert(systemClock.monotonic() - fromMs > LEASE_MS / 2, 'the lease has to pass first')
    await eventually('the two run their parts', async () => {
      const rows = await roundAt(rest[0]!)
      return rows.length === 2 && rows.every(([, outcome]: [number, string]) => outcome === 'done')
    })
    if (signal === 'SIGKILL') return
    stopped.resume()
    assert.equal(await holderAmong(brokers, [1, 2, 3]), second)
    assert.equal(
      (await ups(brokers)).reduce((sum, up) => sum + up),
      1,
    )
    assert.equal((await workerOf(stopped)).holder.id, second)
    // It may learn of the other holder before its own round is due, and then there is no round to refuse.
    assert.match(stopped.output(), /no longer holds the lease of the storage worker: broker \d has taken it over/)
    const roundsOf = (broker: BrokerProcess) => metricOf(broker, /^svc_storage_worker_round_seconds_count\S* (\d+)/gm)
    assert((await roundsOf(brokers[second - 1]!)) > 0)
    // A round that was in progress when the broker was stopped is abandoned now, and counts when it ends.
    const before = await roundsOf(stopped)
    let rounds = before
    await eventually('the broker that wakes starts no more rounds', async () => {
      rounds = await roundsOf(stopped)
      await new Promise(resolve => setTimeout(resolve, 3 * TICK_MS))
      return (await roundsOf(stopped)) === rounds
    })
    assert(rounds <= before + 1, `${rounds - before} rounds have ended`)
  })
}

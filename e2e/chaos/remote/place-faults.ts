// The faults of the object store in a round of the remote tier. While one goes on, producers go on too; no attempt to
// offload is spent, whatever the store answers.

import assert from 'node:assert/strict'
import { eventually } from '../../../testing/eventually.ts'
import type { BrokerProcess } from '../../../testing/process.ts'
import { everyNth, type FaultOf } from '../../../testing/s3-stub.ts'
import { readCounter } from '../redis/probing.ts'
import type { RemoteFault, RoundContext } from './round.ts'

const PROGRESS = 60
const LAG = 'svc_storage_archive_lag_segments'
const FAILURES = 'svc_storage_archive_failures_total'
const SETTLED_MS = 4_000
const isOfTable = (key: string) => /\.(parquet|avro|metadata\.json)$/.test(key)
const LATE_MS = 400
const LATE_TIMES = 15
const isVersion = (key: string) => /\/v\d+\.metadata\.json$/.test(key)
/** The backlog and the breaker follow a place that is away within this time. */
const NOTICED_MS = 60_000

async function sumOf(brokers: readonly BrokerProcess[], name: string): Promise<number> {
  const counts = await Promise.all(brokers.map(broker => readCounter(broker, name)))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Asserts that no attempt failed since the brokers started. */
async function noAttemptSpent({ world: { brokers } }: RoundContext): Promise<void> {
  const texts = await Promise.all(
    brokers.map(async ({ url }) => await (await fetch(`${url}/actuator/prometheus`)).text()),
  )
  const failed = texts.flatMap(text => text.split('\n').filter(line => line.startsWith(FAILURES) && !/ 0$/.test(line)))
  assert.deepEqual(failed, [], 'no attempt is spent')
}

/** The stub has this fault for a while. */
const place = (name: string, faultOf: FaultOf, ms: number): RemoteFault => ({
  name,
  needs: { place: 'bucket' },
  async act(context) {
    const { world, run } = context
    const stub = world.stub!
    const from = stub.requests.length
    stub.faultOf = faultOf
    try {
      await run.pause(ms)
      await run.progress(PROGRESS)
      await noAttemptSpent(context)
    } finally {
      stub.faultOf = () => null
    }
    return `${name}, for ${stub.requests.length - from} requests`
  },
})

/** The stub cuts every connection for this long. */
export const away = (ms: number): RemoteFault => ({
  name: `away for ${ms / 1000} s`,
  lastsMs: ms,
  needs: { place: 'bucket' },
  async act(context) {
    const { world, run } = context
    const { brokers } = world
    const stub = world.stub!
    const beganAtMs = run.clock.monotonic()
    stub.faultOf = () => 'reset'
    try {
      await eventually('the backlog grows', async () => (await sumOf(brokers, LAG)) > 0, NOTICED_MS)
      const isOpen = () =>
        brokers.some(broker => broker.output().includes('the place of the remote tier does not work'))
      await eventually('the breaker opens', isOpen, NOTICED_MS)
      // Requests of work that began before are repeated for a moment.
      await run.pause(SETTLED_MS)
      const requests = stub.requests.length
      const leftMs = () => ms - (run.clock.monotonic() - beganAtMs)
      while (leftMs() > 0) {
        await run.progress(PROGRESS)
        await run.pause(Math.min(1_000, Math.max(0, leftMs())))
      }
      const wrote = stub.requests.slice(requests).filter(({ key, method }) => method === 'PUT' && isOfTable(key))
      assert.deepEqual(wrote, [], 'nothing is written behind an open breaker')
      await noAttemptSpent(context)
      const lag = await sumOf(brokers, LAG)
      return `away for ${Math.round((run.clock.monotonic() - beganAtMs) / 1000)} s, until ${lag} segments waited`
    } finally {
      stub.faultOf = () => null
    }
  },
})

/** The creation of every second version is done, and its answer is lost. */
export const lostCommits = place(
  'every second commit has a lost answer',
  ({ operation, key, number }) => (operation === 'PutObject' && isVersion(key) && number % 2 === 0 ? 'lost' : null),
  6_000,
)

/**
 * The connection is cut before every second version is created, and the request does its work later: after the holder
 * has looked for it and has sent it again.
 */
const lateCommits: RemoteFault = {
  name: 'every second commit arrives late',
  needs: { place: 'bucket' },
  async act(context) {
    const { world, run } = context
    const stub = world.stub!
    let late = 0
    stub.faultOf = ({ operation, key, number }) => {
      if (operation !== 'PutObject' || !isVersion(key) || number % 2 !== 0) return null
      late++
      return 'late'
    }
    try {
      for (let times = 0; times < LATE_TIMES; times++) {
        await run.pause(LATE_MS)
        await stub.doLate()
      }
      await run.progress(PROGRESS)
      await noAttemptSpent(context)
    } finally {
      stub.faultOf = () => null
      await stub.doLate()
    }
    return `${late} commits arrived late`
  },
}

const refusing = (fault: 'unavailable' | 'forbidden') => place(`every request is ${fault}`, () => fault, 5_000)

export const PLACE_FAULTS: readonly RemoteFault[] = [
  place('every fifth answer is lost', everyNth(5, 'lost'), 6_000),
  lostCommits,
  lateCommits,
  refusing('unavailable'),
  refusing('forbidden'),
  place('every third request is unavailable', everyNth(3, 'unavailable'), 5_000),
  place('every request takes 2 s', () => ({ delayMs: 2_000 }), 8_000),
  place('every second upload is cut', everyNth(2, 'cut upload'), 5_000),
  place('every fifth answer is cut', everyNth(5, 'cut answer'), 5_000),
  away(12_000),
]

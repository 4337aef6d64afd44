import assert from 'node:assert/strict'
import { test } from 'node:test'
import { catalogueOf, topicIdOf, topicOf } from '../../testing/catalogue-of.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { systemRandom } from '../base/random.ts'
import { JobDocuments } from '../tier/offload/job-documents.ts'
import { cancel, claim, fail, jobId, newJob, type OffloadJob, retry } from '../tier/offload/jobs.ts'
import {
  countJobs,
  findJob,
  JOB_CHANGED,
  movedFrom,
  moveJob,
  previewMove,
  readJobs,
  retryFailed,
} from './offload-jobs.ts'

const REMOTE = { 'remote.storage.enable': 'true' }

const job = (topicName: string, base: number, changes: Partial<OffloadJob> = {}): OffloadJob => {
  const of = { partition: 0, base, next: base + 10, bytes: 100, plainBytes: 200, sealedAtMs: 1_000 }
  return { ...newJob({ ...of, topicId: topicIdOf(topicName), topicName, maxAttempts: 1 }, 2_000), ...changes }
}

const moved = (move: ReturnType<typeof retry>): OffloadJob => {
  assert.equal(move.kind, 'moved')
  return (move as Extract<typeof move, { kind: 'moved' }>).job
}

/** Its one attempt has failed. */
const suspended = (topicName: string, base: number) =>
  moved(fail(moved(claim(job(topicName, base), 7, 3_000)), 7, 'The batch is broken.', base + 1, 4_000))

async function world(jobs: readonly OffloadJob[]) {
  const clock = new SimulatedClock()
  const store = createMemoryStore(clock)
  const documents = new JobDocuments({ store, clock, random: systemRandom })
  for (const [topicName, own] of Map.groupBy(jobs, each => each.topicName))
    await documents.change({ topicId: topicIdOf(topicName), topicName }, () => ({ answer: null, put: own }))
  const topics = [topicOf('orders', REMOTE), topicOf('payments', REMOTE), topicOf('plain')]
  const tables = [{ topicId: topicIdOf('orders'), topicName: 'orders' }]
  const remoteTier = { jobs: documents, tables: () => tables }
  return { rooms: { remoteTier, catalogue: { current: () => catalogueOf(topics) }, clock }, documents, store }
}

test('jobs of all topics or of one are shown with what an operator needs', async () => {
  const { rooms } = await world([job('orders', 0), suspended('payments', 10), job('orders', 20, { status: 'done' })])
  const { jobs, unreadable } = await readJobs(rooms, null)
  assert.deepEqual(jobs.map(({ topic, base, status }) => `${topic} ${base} ${status}`).sort(), [
    'orders 0 pending',
    'orders 20 done',
    'payments 10 failed',
  ])
  assert.deepEqual(unreadable, [])
  assert.deepEqual(countJobs(jobs), { pending: 1, running: 0, done: 1, failed: 1, cancelled: 0, suspended: 1 })
  const own = await readJobs(rooms, topicOf('payments'))
  assert.deepEqual(own.jobs, [
    {
      ...{ id: `${topicIdOf('payments')}:0:10`, topic: 'payments', topicId: topicIdOf('payments'), partition: 0 },
      ...{ base: 10, next: 20, bytes: 100, plainBytes: 200, sealedAt: '1970-01-01T00:00:01.000Z' },
      ...{ status: 'failed', suspended: true, attempts: 1, maxAttempts: 1, createdAt: '1970-01-01T00:00:02.000Z' },
      ...{ startedAt: '1970-01-01T00:00:03.000Z', tookMs: 1_000 },
      failure: { why: 'The batch is broken.', offset: 11, failedAt: '1970-01-01T00:00:04.000Z' },
    },
  ])
  assert.deepEqual((await readJobs(rooms, topicOf('plain'))).jobs, [])
})

test('one job is found by its id, and a wrong id finds none', async () => {
  const { rooms } = await world([job('orders', 0)])
  const id = jobId(job('orders', 0))
  const found = await findJob(rooms, id)
  assert.equal(found !== null && 'id' in found ? found.id : null, id)
  assert.equal(await findJob(rooms, jobId(job('orders', 1))), null)
  assert.equal(await findJob(rooms, jobId(job('unknown', 0))), null)
})

test('a retry gives all attempts again, and the store has it; what the states forbid is refused with its reason', async () => {
  const failed = suspended('orders', 0)
  const done = job('orders', 10, { status: 'done' })
  const { rooms, documents } = await world([
    failed,
    done,
    job('orders', 20),
    job('orders', 30, { status: 'running', fence: 7 }),
  ])
  const retried = await moveJob(rooms, jobId(failed), retry)
  assert.equal(retried?.kind, 'moved')
  const stored = await documents.of(topicIdOf('orders'))
  assert.ok(!('kind' in stored))
  const { status, attempts, isSuspended } = stored.get(jobId(failed))!
  assert.deepEqual([status, attempts, isSuspended], ['pending', 0, false])
  const refused = await moveJob(rooms, jobId(done), retry)
  assert.deepEqual(refused, {
    kind: 'refused',
    why: `The offload job ${jobId(done)} is done; only a failed or cancelled job can be retried.`,
  })
  assert.equal((await moveJob(rooms, jobId(job('orders', 20)), cancel))?.kind, 'moved')
  assert.equal((await moveJob(rooms, jobId(job('orders', 30)), cancel))?.kind, 'refused')
  assert.equal((await moveJob(rooms, jobId(done), cancel))?.kind, 'refused')
  assert.equal(await moveJob(rooms, jobId(job('orders', 99)), cancel), null)
})

test('all failed jobs are retried, of all topics or of one, and cancelled ones are not', async () => {
  const jobs = [suspended('orders', 0), job('orders', 10, { status: 'cancelled' }), suspended('payments', 0)]
  const ofOne = await world(jobs)
  assert.deepEqual(await retryFailed(ofOne.rooms, topicOf('orders')), { retried: 1, unreadable: [] })
  assert.deepEqual(countJobs((await readJobs(ofOne.rooms, null)).jobs), {
    ...{ pending: 1, running: 0, done: 0, failed: 1, cancelled: 1, suspended: 1 },
  })
  assert.deepEqual(await retryFailed(ofOne.rooms, null), { retried: 1, unreadable: [] })
  assert.deepEqual(await retryFailed(ofOne.rooms, null), { retried: 0, unreadable: [] })
})

test('jobs that cannot be read are named by their topic, and those of other topics are shown', async () => {
  const { rooms, store } = await world([job('orders', 0), suspended('payments', 0)])
  const changes = [{ key: 'offload', value: Buffer.from('{') }]
  const expect = await store.version('offload', topicIdOf('orders'))
  await store.commit({ kind: 'offload', name: topicIdOf('orders'), expect, changes })
  const { jobs, unreadable } = await readJobs(rooms, null)
  assert.deepEqual(
    jobs.map(({ topic }) => topic),
    ['payments'],
  )
  assert.deepEqual(
    unreadable.map(({ topic, topicId }) => [topic, topicId]),
    [['orders', topicIdOf('orders')]],
  )
  assert.match(unreadable[0]!.why, /cannot be read/)
  const named = await findJob(rooms, jobId(job('orders', 0)))
  assert.ok(named !== null && 'kind' in named && named.kind === 'unreadable')
  assert.equal((await moveJob(rooms, jobId(job('orders', 0)), retry))?.kind, 'unreadable')
  const { retried, unreadable: unread } = await retryFailed(rooms, null)
  assert.deepEqual([retried, unread.length], [1, 1])
})

test('a preview shows a job before and after a move, and changes nothing', async () => {
  const { rooms, documents } = await world([suspended('orders', 0), job('orders', 10, { status: 'done' })])
  const id = jobId(job('orders', 0))
  const before = await documents.of(topicIdOf('orders'))
  const preview = await previewMove(rooms, id, retry)
  assert.ok(preview?.kind === 'moved')
  assert.deepEqual(
    [preview.before, preview.after].map(each => [each.status, each.suspended, each.attempts]),
    [
      ['failed', true, 1],
      ['pending', false, 0],
    ],
  )
  assert.equal((await previewMove(rooms, jobId(job('orders', 10)), retry))?.kind, 'refused')
  assert.equal(await previewMove(rooms, jobId(job('orders', 20)), retry), null)
  assert.deepEqual(await documents.of(topicIdOf('orders')), before)
})

test('a job is moved from the expected state only', async () => {
  const { rooms } = await world([suspended('orders', 0)])
  const id = jobId(job('orders', 0))
  const state = { status: 'failed', suspended: true, attempts: 1 } as const
  for (const other of [{ status: 'pending' }, { suspended: false }, { attempts: 2 }] as const)
    assert.deepEqual(await moveJob(rooms, id, movedFrom({ ...state, ...other }, retry)), {
      kind: 'refused',
      why: JOB_CHANGED,
    })
  assert.equal((await moveJob(rooms, id, movedFrom(state, retry)))?.kind, 'moved')
  assert.deepEqual(await moveJob(rooms, id, movedFrom(state, retry)), { kind: 'refused', why: JOB_CHANGED })
})

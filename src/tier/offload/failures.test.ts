import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ThreadEnded } from '../../base/threads.ts'
import { OutcomeUnknown, StoreUnavailable, UnreadableDocument } from '../../store/store.ts'
import { BadBatch } from '../columns/bad-batch.ts'
import { DamagedFile } from '../columns/page-cursors.ts'
import { ObjectStoreError } from '../objects/objects.ts'
import { outcomeOf, StoreFailures } from './failures.ts'
import { newJob } from './jobs.ts'
import { SegmentFailed, Stopped } from './make-file.ts'

const JOB = newJob(
  {
    ...{ topicId: 'topic', topicName: 'orders', partition: 0, base: 0, next: 10, maxAttempts: 3 },
    ...{ bytes: 1, plainBytes: 1, sealedAtMs: 1 },
  },
  1,
)

async function kindOf(error: unknown, { isClosed = false, isWorking = true } = {}) {
  const failures = new StoreFailures({ encoders: { isClosed }, probe: async () => isWorking })
  const alone = await outcomeOf(error, failures)
  const wrapped = await outcomeOf(new SegmentFailed(JOB, error as Error), failures)
  assert.deepEqual(wrapped, alone, 'the segment that it met makes no difference')
  return alone.kind
}

test('an attempt is spent by the segment, and not by a store or a broker that is away', async () => {
  for (const error of [new StoreUnavailable('x'), new OutcomeUnknown('x'), new Stopped('x')])
    assert.equal(await kindOf(error), 'notSpent', error.name)
  for (const error of [new UnreadableDocument('x'), new DamagedFile('x'), new BadBatch(3, 'x'), new Error('x')])
    assert.equal(await kindOf(error, { isWorking: false }), 'failed', error.name)
  assert.deepEqual(await outcomeOf(new BadBatch(3, 'x'), new StoreFailures({ encoders: { isClosed: false } })), {
    kind: 'failed',
    why: 'x',
    offset: 3,
  })
})

test('a thread that dies spends the attempt of its segment, but not while the broker stops', async () => {
  assert.equal(await kindOf(new ThreadEnded('x')), 'failed')
  assert.equal(await kindOf(new ThreadEnded('x'), { isClosed: true }), 'notSpent')
})

test('a refusal of the object store spends an attempt only while the probe succeeds, and one probe is enough', async () => {
  for (const kind of ['away', 'full'] as const) assert.equal(await kindOf(new ObjectStoreError(kind, 'x')), 'notSpent')
  for (const kind of ['refused', 'unknown', 'conflict'] as const) {
    assert.equal(await kindOf(new ObjectStoreError(kind, 'x')), 'failed')
    assert.equal(await kindOf(new ObjectStoreError(kind, 'x'), { isWorking: false }), 'notSpent')
  }
  let probes = 0
  const away = async () => {
    probes++
    throw new ObjectStoreError('away', 'no answer')
  }
  const failures = new StoreFailures({ encoders: { isClosed: false }, probe: away })
  const refused = new ObjectStoreError('refused', 'x')
  const outcomes = await Promise.all([outcomeOf(refused, failures), outcomeOf(refused, failures)])
  assert.deepEqual([outcomes[0].kind, outcomes[1].kind, probes], ['notSpent', 'notSpent', 1])
})

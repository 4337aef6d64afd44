import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import type { ArchiveTrouble } from '../log/archive.ts'
import { testSettings } from '../settings/settings.ts'
import type { InspectedFile } from '../tier/remote/remote-tier.ts'
import { SegmentInspections } from './segment-inspections.ts'

const PLACE = { topicId: 't'.repeat(22), topicName: 'orders', partition: 0 }

const file = (base: number): InspectedFile => ({
  ...{ path: `s3://bucket/${base}.parquet`, base, next: base + 10, rows: 10, bytes: 100, kafkaBytes: 200 },
  ...{ minTimestamp: 1, maxTimestamp: 2 },
})

type Answer = readonly InspectedFile[] | ArchiveTrouble

function world({ threads = 1, capacity = 1, timeoutMs = 5_000, ttlMs = 10_000 } = {}) {
  const clock = new SimulatedClock()
  const settings = testSettings({
    'admin.segment-inspection.threads': threads,
    'admin.segment-inspection.queue-capacity': capacity,
    'admin.segment-inspection.timeout': timeoutMs,
    'admin.segment-inspection.ttl': ttlMs,
  })
  const inspections = new SegmentInspections({ settings, clock })
  const asked: { readonly base: number; readonly answer: PromiseWithResolvers<Answer> }[] = []
  const tier = {
    inspect(_place: typeof PLACE, base: number) {
      const answer = Promise.withResolvers<Answer>()
      asked.push({ base, answer })
      return answer.promise
    },
  }
  const inspect = (base: number) => inspections.inspect(tier, PLACE, base, base + 10)
  return { clock, asked, inspect }
}

/** Lets everything run that is not waiting for a timer. */
const settle = () => new Promise(resolve => setImmediate(resolve))

test('an inspection shows the files, and equal ones share one for its time to live', async () => {
  const { clock, asked, inspect } = world()
  const both = [inspect(0), inspect(0)]
  asked[0]!.answer.resolve([file(0)])
  const [one, other] = await Promise.all(both)
  const { kafkaBytes, ...rest } = file(0)
  assert.deepEqual(one, { outcome: 'done', files: [{ ...rest, plainBytes: kafkaBytes }], total: 1, trouble: null })
  assert.deepEqual(other, one)
  await clock.advance(9_999)
  assert.deepEqual(await inspect(0), one)
  assert.equal(asked.length, 1)
  await clock.advance(1)
  void inspect(0)
  await settle()
  assert.equal(asked.length, 2)
})

test('with a time to live of 0 nothing is reused', async () => {
  const { asked, inspect } = world({ ttlMs: 0 })
  for (const at of [0, 1]) {
    const found = inspect(0)
    await settle()
    asked[at]!.answer.resolve([])
    assert.equal((await found).outcome, 'done')
  }
})

test('beyond the threads inspections wait, and beyond the queue they are refused at once', async () => {
  const { asked, inspect } = world({ threads: 2, capacity: 1 })
  const running = [inspect(0), inspect(10)]
  const waiting = inspect(20)
  await settle()
  assert.deepEqual(
    asked.map(({ base }) => base),
    [0, 10],
  )
  const refused = await inspect(30)
  assert.deepEqual([refused.outcome, refused.files, refused.total], ['full', [], 0])
  assert.match(refused.trouble ?? '', /queue-capacity/)
  // One that runs already takes no place.
  running.push(inspect(0))
  asked[1]!.answer.resolve([])
  await settle()
  assert.equal(asked[2]!.base, 20)
  asked[2]!.answer.resolve([])
  assert.equal((await waiting).outcome, 'done')
  asked[0]!.answer.resolve([file(0)])
  assert.deepEqual(
    (await Promise.all(running)).map(({ outcome }) => outcome),
    ['done', 'done', 'done'],
  )
  const later = inspect(40)
  await settle()
  asked[3]!.answer.resolve([])
  assert.equal((await later).outcome, 'done')
})

test('a queue of 0 lets none wait', async () => {
  const { inspect } = world({ capacity: 0 })
  void inspect(0)
  assert.equal((await inspect(10)).outcome, 'full')
})

test('a caller waits a limited time, and the next one gets the result that was late', async () => {
  const { clock, asked, inspect } = world({ timeoutMs: 5_000 })
  const first = inspect(0)
  await clock.advance(5_000)
  const late = await first
  assert.deepEqual([late.outcome, late.files], ['late', []])
  assert.match(late.trouble ?? '', /segment-inspection\.timeout/)
  const second = inspect(0)
  asked[0]!.answer.resolve([file(0)])
  assert.equal((await second).outcome, 'done')
  assert.equal(asked.length, 1)
})

test('a remote tier that cannot answer is named, and asked again by the next caller', async () => {
  const { asked, inspect } = world()
  const troubles: readonly [ArchiveTrouble, string, RegExp][] = [
    [{ kind: 'away', why: 'The store answered 503.' }, 'failed', /503/],
    [{ kind: 'damaged', why: 'A manifest is missing.' }, 'failed', /manifest/],
    [{ kind: 'busy' }, 'full', /read\.queue-capacity/],
  ]
  for (const [at, [trouble, outcome, why]] of troubles.entries()) {
    const found = inspect(0)
    await settle()
    asked[at]!.answer.resolve(trouble)
    const inspected = await found
    assert.equal(inspected.outcome, outcome)
    assert.match(inspected.trouble ?? '', why)
  }
})

test('a defect reaches the caller, gives its thread back, and is not kept', async () => {
  const { asked, inspect } = world()
  const failing = inspect(0)
  asked[0]!.answer.reject(new Error('defect'))
  await assert.rejects(failing, { message: 'defect' })
  const next = inspect(0)
  await settle()
  asked[1]!.answer.resolve([])
  assert.equal((await next).outcome, 'done')
})

test('a segment of very many files shows the first thousand and their number', async () => {
  const { asked, inspect } = world()
  const found = inspect(0)
  asked[0]!.answer.resolve(Array.from({ length: 1_200 }, (_, at) => file(at)))
  const { files, total } = await found
  assert.deepEqual([files.length, total], [1_000, 1_200])
})

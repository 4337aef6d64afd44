import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { batchOf, type LogWorld, openLogWorld } from '../../../testing/sim/logs.ts'
import { reachIn } from '../../../testing/sim/reach.ts'
import type { ShownRecord } from '../../api/messages.ts'
import { SOLE_LEADERSHIP } from '../../log/leadership.ts'
import { isRefusal, type Refusal } from '../../protocol/errors.ts'
import type { NewRecord } from '../../protocol/records.ts'
import { PAGE_READ_BYTES } from './browse.ts'
import { type ExportRequest, exportRecords, LARGEST_DECODED_BYTES } from './export.ts'

const REQUEST: ExportRequest = {
  partition: null,
  order: 'oldest',
  seek: { edge: 'earliest' },
  cursor: null,
  limit: 1_000_000,
  contains: null,
  decode: 'utf8',
  keyDecode: 'utf8',
}

async function begin(world: LogWorld, request: Partial<ExportRequest> = {}, ended = new AbortController().signal) {
  const records = await exportRecords(reachIn(world), 't', { ...REQUEST, ...request }, ended)
  assert.ok(!isRefusal(records), JSON.stringify(records))
  return records
}

async function all(records: AsyncIterable<ShownRecord>): Promise<ShownRecord[]> {
  const seen: ShownRecord[] = []
  for await (const record of records) seen.push(record)
  return seen
}

async function append(world: LogWorld, index: number, records: readonly NewRecord[]) {
  const appending = world.partition('t', index).append(batchOf(records), 0)
  await world.clock.settle()
  assert.ok(!isRefusal(await appending))
}

async function opened(t: TestContext, partitions: number, leadership = SOLE_LEADERSHIP) {
  const world = await openLogWorld(t, { overrides: { 'storage.local.tail-cache-bytes': 0 }, leadership })
  await world.create('t', { 'max.message.bytes': '20000000' }, partitions)
  return world
}

test('more records than one page may read are exported once and in order, in both directions', async t => {
  const world = await opened(t, 2)
  const began = world.clock.now() - 1_000
  const value = Buffer.alloc(1_500_000, 'x')
  const count = Math.ceil((2.5 * PAGE_READ_BYTES) / value.length)
  for (let i = 0; i < count; i++) await append(world, i % 2, [{ value, timestamp: began + i }])
  for (const order of ['oldest', 'newest'] as const) {
    const seek = { edge: order === 'oldest' ? 'earliest' : 'latest' } as const
    const seen = (await all(await begin(world, { order, seek }))).map(({ timestamp }) => timestamp! - began)
    const expected = Array.from({ length: count }, (_, i) => (order === 'oldest' ? i : count - 1 - i))
    assert.deepEqual(seen, expected)
  }
})

test('an export ends where the partitions ended when it started, or after the requested number of records', async t => {
  const world = await opened(t, 1)
  const stamped = (...values: string[]) => values.map(value => ({ value, timestamp: world.clock.now() }))
  await append(world, 0, stamped('a', 'b', 'c'))
  const records = await begin(world)
  const first = await records.next()
  await append(world, 0, stamped('late'))
  const rest = await all(records)
  const text = (record: ShownRecord) => record.value?.text
  assert.deepEqual([first.value as ShownRecord, ...rest].map(text), ['a', 'b', 'c'])
  const texts = async (request: Partial<ExportRequest>) => (await all(await begin(world, request))).map(text)
  assert.deepEqual(await texts({ limit: 2 }), ['a', 'b'])
  assert.deepEqual(await texts({ contains: 'a' }), ['a', 'late'])
  assert.deepEqual(await texts({ seek: { offset: 9 } }), [])
})

test('a large record is exported whole and as base64', async t => {
  const world = await opened(t, 1)
  const large = 'é'.repeat(LARGEST_DECODED_BYTES / 2)
  const headers = Array.from({ length: 40 }, (_, i) => ({ key: `h${i}`, value: 'x' }))
  await append(world, 0, [{ value: large }, { key: 'k', value: large, headers }])
  const [fits, larger] = await all(await begin(world))
  assert.deepEqual([fits!.value!.status, fits!.value!.truncated], ['decoded', false])
  assert.equal(fits!.value!.text, large)
  assert.deepEqual([larger!.key!.base64, larger!.value!.truncated, larger!.headers.length], ['aw==', false, 40])
  assert.ok(Buffer.from(larger!.value!.base64!, 'base64').equals(Buffer.from(large)))
})

test('an export is refused if a partition cannot be read, and ends with an error if a partition goes away', async t => {
  let led = 2
  const world = await opened(t, 2, { ...SOLE_LEADERSHIP, leads: (_, index) => index < led })
  const value = Buffer.alloc(1_000_000, 'x')
  for (let i = 0; i < 8; i++) await append(world, i % 2, [{ value, timestamp: world.clock.now() }])
  const refused = async () =>
    (await exportRecords(reachIn(world), 't', REQUEST, new AbortController().signal)) as Refusal
  const records = await begin(world)
  assert.equal((await records.next()).done, false)
  led = 1
  await world.logs.reassign()
  await assert.rejects(all(records), /^Error: partition 1 cannot be read further: No broker leads partition 1 of 't'/)
  assert.equal((await refused()).name, 'LEADER_NOT_AVAILABLE')
})

test('an export ends with the reason of the signal, even if no record matches', async t => {
  const world = await opened(t, 1)
  await append(world, 0, [{ value: 'a' }, { value: 'b' }])
  const gone = new AbortController()
  const records = await begin(world, {}, gone.signal)
  await records.next()
  gone.abort(new Error('the client has left'))
  await assert.rejects(all(records), /the client has left/)
  await assert.rejects(all(await begin(world, { contains: 'nothing has this' }, gone.signal)), /the client has left/)
})

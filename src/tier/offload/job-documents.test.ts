import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import type { Store } from '../../store/store.ts'
import { JobDocuments } from './job-documents.ts'
import { claim, fail, jobId, newJob, type OffloadJob } from './jobs.ts'

const TOPIC = { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', topicName: 'orders' }
const job = (partition: number, base: number, topic = TOPIC) =>
  newJob(
    { ...topic, ...{ partition, base, next: base + 10, bytes: 100, plainBytes: null, sealedAtMs: 1 }, maxAttempts: 3 },
    5_000,
  )

/** A store that counts the calls that read documents. */
function world() {
  const store = createMemoryStore(systemClock)
  const loads: string[] = []
  const counted: Store = Object.assign(Object.create(store) as Store, {
    load: (kind: string, name: string) => {
      loads.push(name)
      return store.load(kind, name)
    },
  })
  const named: string[] = []
  const unreadable = ({ what, why }: { what: string; why: unknown }) => {
    named.push(`${what}: ${why instanceof Error ? why.message : why}`)
  }
  const open = () => new JobDocuments({ store: counted, clock: systemClock, random: seededRandom(1), unreadable })
  return { store, loads, named, open }
}

const put = (documents: JobDocuments, ...jobs: OffloadJob[]) =>
  documents.change(jobs[0]!, () => ({ answer: 'put', put: jobs }))

async function jobsOf(documents: JobDocuments, topicId = TOPIC.topicId) {
  const jobs = await documents.of(topicId)
  assert.ok(!('kind' in jobs))
  return [...jobs.values()]
}

test('jobs come back as they were stored, on another broker too', async () => {
  const { open } = world()
  const failed = fail((claim(job(1, 20), 7, 6_000) as { job: OffloadJob }).job, 7, 'a batch is bad', 23, 6_500)
  const all = [job(0, 0), (failed as { job: OffloadJob }).job, (claim(job(1, 30), 9, 7_000) as { job: OffloadJob }).job]
  assert.equal(await put(open(), ...all), 'put')
  assert.deepEqual(await jobsOf(open()), all)
})

test('a document is loaded again only after it has changed', async () => {
  const { open, loads } = world()
  const reader = open()
  const other = { topicId: 'AAAAAAAAAAAAAAAAAAAAAg', topicName: 'invoices' }
  await put(open(), job(0, 0))
  await put(open(), job(0, 0, other))
  const read = async () => {
    loads.length = 0
    const all = await reader.ofAll([TOPIC.topicId, other.topicId, 'none'])
    return [...all.values()].map(jobs => (jobs as ReadonlyMap<string, OffloadJob>).size)
  }
  assert.deepEqual(await read(), [1, 1, 0])
  assert.deepEqual(await read(), [1, 1, 0])
  assert.deepEqual(loads, [])
  await put(open(), job(0, 10, other))
  assert.deepEqual(await read(), [1, 2, 0])
  assert.deepEqual(loads, [other.topicId])
})

test('two writers at once both have their change', async () => {
  const { open } = world()
  const writers = Array.from({ length: 5 }, open)
  await Promise.all(writers.map((documents, i) => put(documents, job(i, 0))))
  assert.deepEqual((await jobsOf(open())).map(({ partition }) => partition).sort(), [0, 1, 2, 3, 4])
})

test('jobs are removed one by one, and the document with the last one', async () => {
  const { open, store } = world()
  const documents = open()
  await put(documents, job(0, 0), job(0, 10))
  const remove = (...jobs: OffloadJob[]) => documents.change(TOPIC, () => ({ answer: null, remove: jobs }))
  await remove(job(0, 0))
  assert.deepEqual(await jobsOf(documents), [job(0, 10)])
  await remove(job(0, 10))
  assert.equal(await store.version('offload', TOPIC.topicId), 0)
  assert.deepEqual(await jobsOf(documents), [])
  await remove(job(0, 10))
  assert.equal(await store.version('offload', TOPIC.topicId), 0)
})

test('a decision without a change writes nothing', async () => {
  const { open, store } = world()
  const documents = open()
  await put(documents, job(0, 0))
  const before = await store.version('offload', TOPIC.topicId)
  assert.deepEqual(await documents.change(TOPIC, jobs => ({ answer: [...jobs.keys()] })), [jobId(job(0, 0))])
  assert.equal(await store.version('offload', TOPIC.topicId), before)
})

const HEAD = JSON.stringify({ format: 1, topicName: 'orders' })
const { topicId: _, topicName: __, partition: ___, base: ____, ...MEMBERS } = job(0, 0)
const member = (changed: object) => JSON.stringify({ ...MEMBERS, ...changed })

for (const [name, fields, why] of [
  ['garbage', { offload: 'garbage' }, /orders|garbage/],
  ['of a later version', { offload: '{"format":2,"topicName":"orders"}' }, /its format is 2, and this version reads 1/],
  ['without its head', { '0:0': member({}) }, /JSON/],
  ['whose head is a list', { offload: '[]' }, /it is no object/],
  ['without a topic', { offload: '{"format":1}' }, /it names no topic/],
  ['with a field of another name', { offload: HEAD, 'x:0': member({}) }, /field "x:0" describes no offload job/],
  ['with an unknown status', { offload: HEAD, '0:0': member({ status: 'lost' }) }, /describes no offload job/],
  ['that runs without a holder', { offload: HEAD, '0:0': member({ status: 'running' }) }, /describes no offload job/],
  ['that ends before it begins', { offload: HEAD, '0:0': member({ next: 0 }) }, /describes no offload job/],
  ['with half a failure', { offload: HEAD, '0:0': member({ failure: { why: 'x' } }) }, /describes no offload job/],
] as const)
  test(`a document ${name} is named and left as it is, and other topics go on`, async () => {
    const { open, store, named } = world()
    const documents = open()
    const changes = Object.entries(fields).map(([key, value]) => ({ key, value: Buffer.from(value) }))
    await store.commit({ kind: 'offload', name: TOPIC.topicId, expect: 0, changes })
    const before = await store.load('offload', TOPIC.topicId)
    const other = { topicId: 'AAAAAAAAAAAAAAAAAAAAAg', topicName: 'invoices' }
    await put(documents, job(0, 0, other))

    const found = await documents.ofAll([TOPIC.topicId, other.topicId])
    assert.match((found.get(TOPIC.topicId) as { why: string }).why, why)
    assert.equal((found.get(other.topicId) as ReadonlyMap<string, OffloadJob>).size, 1)
    const answer = await put(documents, job(0, 0))
    assert.equal((answer as { kind: string }).kind, 'unreadable')
    assert.match(named[0]!, /^the document of the offload jobs of topic AAAAAAAAAAAAAAAAAAAAAQ: /)
    assert.deepEqual(await store.load('offload', TOPIC.topicId), before)
    // It is repaired.
    await documents.remove(TOPIC.topicId)
    assert.equal(await put(documents, job(0, 0)), 'put')
    assert.deepEqual(await jobsOf(documents), [job(0, 0)])
  })

test('documents of topics that are gone are swept', async () => {
  const { open, store } = world()
  const documents = open()
  const other = { topicId: 'AAAAAAAAAAAAAAAAAAAAAg', topicName: 'invoices' }
  await put(documents, job(0, 0))
  await put(documents, job(0, 0, other))
  await documents.sweep(topicId => topicId === other.topicId)
  assert.deepEqual(
    (await store.list('offload')).map(({ name }) => name),
    [other.topicId],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storeConformance } from '../../src/store/conformance.ts'
import { exampleAppend, expectKind } from '../../src/store/examples.ts'
import { OutcomeUnknown, StoreUnavailable } from '../../src/store/store.ts'
import { SimulatedClock } from './clock.ts'
import { ReplicatedServer } from './replicated-server.ts'
import { ALL_SAFEGUARDS, connectReplicatedStore, type Fate, type Safeguards, type Wire } from './replicated-store.ts'

const A = 'AAAAAAAAAAAAAAAAAAAAAQ:0'
const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

/** Returns a wire whose messages arrive within the turn, unless a test sets another fate. */
function calmWire(clock: SimulatedClock, fates: Fate[] = []): Wire {
  return {
    fate: () => fates.shift() ?? 'answered',
    toServer: queueMicrotask,
    toBroker: queueMicrotask,
    later: (ms, due) => clock.timer(ms, due).cancel,
    delayMs: () => 10,
  }
}

storeConformance('replicated store', async () => {
  // A replica without lag.
  const server: ReplicatedServer = new ReplicatedServer(1, () => server.replicate(0, 1))
  const clock = new SimulatedClock()
  const fates: Fate[] = []
  const wire = calmWire(clock, fates)
  const connect = () => connectReplicatedStore({ server, wire, waitReplicas: 1, waitTimeoutMs: 1000 })
  let store = connect()
  return {
    store,
    reopen: async () => {
      await store.close()
      store = connect()
      return store
    },
    loseTrim: async (_, call) => {
      fates.push('answer lost')
      await assert.rejects(call(), OutcomeUnknown)
    },
  }
})

/** Opens a stream on a server with two replicas. The replicas receive only what the test replicates. */
async function ledStore(safeguards: Partial<Safeguards> = {}) {
  const clock = new SimulatedClock()
  const server = new ReplicatedServer(2)
  const fates: Fate[] = []
  const connect = () =>
    connectReplicatedStore({
      server,
      wire: calmWire(clock, fates),
      waitReplicas: 1,
      waitTimeoutMs: 1000,
      safeguards: { ...ALL_SAFEGUARDS, ...safeguards },
    })
  const store = connect()
  /** Resolves once the replica has everything. */
  const replicated = async <T>(call: Promise<T>): Promise<T> => {
    await clock.settle()
    server.replicate(0, Number.MAX_SAFE_INTEGER)
    return call
  }
  await replicated(store.create([A]))
  await replicated(store.open(A, 0, 0))
  return { clock, server, store, fates, connect, replicated }
}

test('an append is answered once a replica has it, and its end is then the high watermark', async () => {
  const { clock, server, store } = await ledStore()
  const appended = store.append(exampleAppend(A, 1, 0))
  let isAnswered = false
  void appended.then(() => {
    isAnswered = true
  })
  await clock.settle()
  assert.equal(isAnswered, false)
  server.replicate(1, 99)
  assert.deepEqual(await appended, { kind: 'appended', end: 1, highWatermark: 1 })
})

test('an append that no replica confirms in time is stored, and the high watermark stays below it', async () => {
  const { clock, store } = await ledStore()
  const appended = store.append(exampleAppend(A, 1, 0))
  await clock.advance(1000)
  assert.deepEqual(await appended, { kind: 'appended', end: 1, highWatermark: 0 })
})

test('a broker that takes the lead sees unconfirmed data once a replica has it', async () => {
  const { clock, server, store } = await ledStore()
  const appended = store.append(exampleAppend(A, 1, 0))
  await clock.advance(1000)
  await appended
  const tooEarly = store.open(A, 1, 0)
  await clock.advance(1000)
  assert.equal(expectKind(await tooEarly, 'opened').highWatermark, 0)
  const confirming = store.confirm(A, 2)
  await clock.settle()
  server.replicate(0, 99)
  assert.deepEqual(await confirming, { kind: 'confirmed', highWatermark: 1 })
})

test('an append is stored if its answer is lost, not if its request is, and a late one is stored unless it is fenced', async () => {
  const { clock, store, fates, replicated } = await ledStore()
  fates.push('answer lost')
  const done = exampleAppend(A, 1, 0)
  await assert.rejects(store.append(done), OutcomeUnknown)
  const opened = expectKind(await replicated(store.open(A, 1, 0)), 'opened')
  assert.deepEqual([opened.epoch, opened.end, opened.lastAttempt], [2, 1, done.attempt])
  fates.push('lost')
  await assert.rejects(store.append(exampleAppend(A, 2, 1)), OutcomeUnknown)
  await clock.advance(10)
  assert.equal(expectKind(await replicated(store.open(A, 2, 0)), 'opened').end, 1)
  fates.push('late')
  await assert.rejects(store.append(exampleAppend(A, 3, 1)), OutcomeUnknown)
  await clock.advance(10)
  assert.equal(expectKind(await replicated(store.open(A, 3, 0)), 'opened').end, 2)
  fates.push('late')
  await assert.rejects(store.append(exampleAppend(A, 4, 2)), OutcomeUnknown)
  await replicated(store.open(A, 4, 0))
  await clock.advance(10)
  assert.equal(expectKind(await replicated(store.open(A, 5, 0)), 'opened').end, 2)
})

test('a fail-over keeps the data of the replica and invalidates opens; the epoch jumps at the next open', async () => {
  const { clock, server, store, replicated } = await ledStore()
  await replicated(store.append(exampleAppend(A, 1, 0)))
  const unconfirmed = assert.rejects(store.append(exampleAppend(A, 1, 1)), OutcomeUnknown)
  await clock.settle()
  server.failOver(0)
  await unconfirmed
  const renewed = store.renewed()
  assert.deepEqual(await store.append(exampleAppend(A, 1, 1)), { kind: 'fenced', epoch: 1 })
  assert.deepEqual(await renewed, [A])
  const reopening = store.open(A, 1, 0)
  await clock.settle()
  server.replicate(0, 1)
  const opened = expectKind(await reopening, 'opened')
  assert.deepEqual([opened.epoch, opened.end, opened.highWatermark], [1002, 1, 1])
})

test('if reported data is lost, the end is raised to the reported offset and its offsets are not used again', async () => {
  for (const floor of [true, false]) {
    const { clock, server, store, connect, replicated } = await ledStore({ floor })
    server.replicate(1, 99)
    await replicated(store.append(exampleAppend(A, 1, 0)))
    server.failOver(1)
    await clock.settle()
    // The broker that knows the end raises it for all brokers with its first call of any kind.
    await store.read(A, 0, EVERYTHING)
    const opened = expectKind(await replicated(connect().open(A, 0, 0)), 'opened')
    assert.equal(opened.end, floor ? 1 : 0)
  }
})

test('replicas of a server that restarts with less data lose it too; while the server is down nothing is written', async () => {
  const { clock, server, store, replicated } = await ledStore()
  await replicated(store.append(exampleAppend(A, 1, 0)))
  server.stop()
  await clock.settle()
  await assert.rejects(store.append(exampleAppend(A, 1, 1)), StoreUnavailable)
  server.restart(server.position - 1)
  assert.deepEqual(server.promotable, [1])
  assert.deepEqual(await store.read(A, 0, EVERYTHING), { kind: 'read', batches: [] })
})

test('a commit that no replica confirms is unknown, and no broker sees it until a replica confirms it', async () => {
  const { clock, server, store } = await ledStore()
  const commit = store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] })
  const unknown = assert.rejects(commit, OutcomeUnknown)
  await clock.advance(1000)
  await unknown
  const hidden = assert.rejects(store.load('k', 'n'), StoreUnavailable)
  await clock.advance(1000)
  await hidden
  const loading = store.load('k', 'n')
  await clock.settle()
  server.replicate(0, 99)
  assert.equal((await loading)?.version, 1)
})

test('a commit under a new incarnation skips the versions that may be lost', async () => {
  const { clock, server, store, replicated } = await ledStore()
  await replicated(store.commit({ kind: 'k', name: 'n', expect: 0, changes: [] }))
  server.failOver(0)
  await clock.settle()
  const committing = store.commit({ kind: 'k', name: 'n', expect: 1, changes: [] })
  await clock.settle()
  server.replicate(0, 1)
  assert.deepEqual(await committing, { kind: 'committed', version: 1002, incarnation: server.incarnation })
})

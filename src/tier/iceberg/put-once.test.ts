import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PromptClock, testDeps } from '../../../testing/iceberg-table.ts'
import { type Call, type Hooks, MemoryObjects, withHooks } from '../../../testing/memory-objects.ts'
import { ObjectStoreError, type ObjectStoreErrorKind, type Objects } from '../objects/objects.ts'
import { CommitUnknown, putOnce, STAGED_FOR_MS } from './put-once.ts'

const KEY = 'ns/t/metadata/v2.metadata.json'
const OURS = Buffer.from('ours')
const THEIRS = Buffer.from('theirs')
const confirm = () => {}

function world() {
  const clock = new PromptClock()
  return { clock, memory: new MemoryObjects(clock), deps: testDeps(1, clock) }
}

/** Throws the errors one after the other, at calls of the verb. */
function failing(
  memory: Objects,
  verb: Call['verb'],
  at: keyof Hooks,
  kinds: (ObjectStoreErrorKind | null)[],
): Objects {
  return withHooks(memory, {
    [at](call: Call) {
      if (call.verb !== verb) return
      const kind = kinds.shift() ?? null
      if (kind !== null) throw new ObjectStoreError(kind, `${verb} ${call.key}: ${kind}`)
    },
  })
}

test('a version that the request creates is ours', async () => {
  const { memory, deps } = world()
  assert.deepEqual(await putOnce(memory, KEY, OURS, confirm, deps), { kind: 'ours' })
})

test('a version that exists with other bytes is lost, and with our bytes it is ours', async () => {
  const { memory, deps } = world()
  await memory.write(KEY, THEIRS)
  assert.deepEqual(await putOnce(memory, KEY, OURS, confirm, deps), { kind: 'lost', found: new Uint8Array(THEIRS) })
  assert.deepEqual(await putOnce(memory, KEY, THEIRS, confirm, deps), { kind: 'ours' })
})

test('a request whose answer was lost is found, and is not sent again', async () => {
  const { memory, deps } = world()
  let creates = 0
  const counted = withHooks(memory, {
    before({ verb }) {
      if (verb === 'create') creates++
    },
  })
  const objects = failing(counted, 'create', 'after', ['unknown'])
  assert.deepEqual(await putOnce(objects, KEY, OURS, confirm, deps), { kind: 'ours' })
  assert.equal(creates, 1)
})

test('a request that did not arrive is sent again with the same key and bytes', async () => {
  for (const kind of ['unknown', 'away', 'conflict'] as const) {
    const { memory, deps } = world()
    const objects = failing(memory, 'create', 'before', [kind, kind, kind])
    assert.deepEqual(await putOnce(objects, KEY, OURS, confirm, deps), { kind: 'ours' })
    assert.deepEqual(memory.held.get(KEY)!.bytes, OURS)
  }
})

test('a request that arrives late, after another writer was faster, is lost and changes nothing', async () => {
  const { memory, deps } = world()
  const objects = withHooks(memory, {
    async before({ verb }) {
      if (verb !== 'create' || memory.held.has(KEY)) return
      await memory.create(KEY, THEIRS)
      throw new ObjectStoreError('unknown', 'it is on its way')
    },
  })
  assert.equal((await putOnce(objects, KEY, OURS, confirm, deps)).kind, 'lost')
  assert.deepEqual(memory.held.get(KEY)!.bytes, THEIRS)
})

test('while the store is away after a request, the outcome stays unknown until the patience ends', async () => {
  const { memory, deps } = world()
  const lost = failing(memory, 'create', 'after', ['unknown'])
  let reads = 0
  const patience = {
    untilMs: Number.POSITIVE_INFINITY,
    ended: null,
    get isOver() {
      return reads > 5
    },
  }
  const objects = withHooks(lost, {
    before({ verb }) {
      if (verb !== 'read') return
      reads++
      throw new ObjectStoreError('away', 'no answer')
    },
  })
  await assert.rejects(putOnce(objects, KEY, OURS, confirm, { ...deps, patience }), CommitUnknown)
  assert.ok(memory.held.has(KEY))
})

test('a refusal of the first request is certain; after an unknown one it is not', async () => {
  for (const kind of ['refused', 'full'] as const) {
    const { memory, deps } = world()
    const first = putOnce(failing(memory, 'create', 'before', [kind]), KEY, OURS, confirm, deps)
    await assert.rejects(first, { name: 'ObjectStoreError', kind })
    const second = putOnce(failing(memory, 'create', 'before', ['unknown', kind]), KEY, OURS, confirm, deps)
    await assert.rejects(second, CommitUnknown)
  }
})

test('the caller confirms each request: a lost lease is certain before the first one and unknown after it', async () => {
  const { memory, deps } = world()
  const refuse = () => Promise.reject(new Error('the lease is lost'))
  await assert.rejects(putOnce(memory, KEY, OURS, refuse, deps), { message: 'the lease is lost' })
  assert.equal(memory.held.size, 0)

  let confirmed = 0
  const refuseSecond = () => (confirmed++ === 0 ? Promise.resolve() : refuse())
  const objects = failing(memory, 'create', 'before', ['unknown'])
  await assert.rejects(putOnce(objects, KEY, OURS, refuseSecond, deps), (error: CommitUnknown) => {
    assert.equal(error.name, 'CommitUnknown')
    assert.equal((error.cause as Error).message, 'the lease is lost')
    return true
  })
})

test('files that were staged half a day ago are not committed, because the sweep may have taken them', async () => {
  const { clock, memory, deps } = world()
  const objects = withHooks(memory, {
    before({ verb }) {
      if (verb !== 'create') return
      clock.atMs += STAGED_FOR_MS + 1
      throw new ObjectStoreError('unknown', 'no answer')
    },
  })
  await assert.rejects(putOnce(objects, KEY, OURS, confirm, deps), CommitUnknown)
  assert.equal(memory.held.size, 0)
})

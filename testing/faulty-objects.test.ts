import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { seededRandom, systemRandom } from '../src/base/random.ts'
import { openFolder } from '../src/tier/objects/folder.ts'
import { ObjectStoreError } from '../src/tier/objects/objects.ts'
import { faultyObjects, type ObjectFaults, type ObjectVerb } from './faulty-objects.ts'
import { temporaryFolder } from './temporary-folder.ts'

async function open(t: TestContext, faults: ObjectFaults, before?: (verb: ObjectVerb, key: string) => void) {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const inner = await openFolder(folder, { clock: systemClock, random: systemRandom, warn: assert.fail })
  t.after(() => inner.close())
  const options = { clock: systemClock, random: seededRandom(1), faults, ...(before === undefined ? {} : { before }) }
  return { inner, faulty: faultyObjects(inner, options) }
}

const kind = (expected: string) => (error: unknown) => error instanceof ObjectStoreError && error.kind === expected
const A = Buffer.from('a')

test('without faults a call has its effect and its result', async t => {
  const { faulty } = await open(t, {})
  assert.equal(await faulty.create('a', A), 'created')
  assert.equal(await faulty.create('a', A), 'exists')
  assert.deepEqual(await faulty.read('a'), new Uint8Array(A))
  assert.equal((await Array.fromAsync(faulty.list(''))).length, 1)
  await faulty.delete(['a'])
  assert.equal(await faulty.stat('a'), null)
  assert.equal(faulty.faultCount, 0)
})

test('a call whose answer is lost has its effect', async t => {
  const { inner, faulty } = await open(t, { lostAnswer: 1 })
  await assert.rejects(faulty.create('a', A), kind('unknown'))
  await assert.rejects(faulty.write('b', A), kind('away'))
  assert.notEqual(await inner.read('a'), null)
  assert.notEqual(await inner.read('b'), null)
  await assert.rejects(faulty.delete(['a']), kind('away'))
  assert.equal(await inner.read('a'), null)
  assert.equal(faulty.faultCount, 3)
})

for (const [fault, ofCreate, ofOthers] of [
  ['lostRequest', 'unknown', 'away'],
  ['refused', 'refused', 'refused'],
] as const)
  test(`a call with the fault ${fault} has no effect`, async t => {
    const { inner, faulty } = await open(t, { [fault]: 1 })
    await assert.rejects(faulty.create('a', A), kind(ofCreate))
    await assert.rejects(faulty.replace('a', A), kind(ofOthers))
    await assert.rejects(Array.fromAsync(faulty.list('')), kind(ofOthers))
    assert.equal(await inner.read('a'), null)
  })

test('a late create has its effect later, unless another one was first', async t => {
  const { inner, faulty } = await open(t, { lateCreate: 1 })
  await assert.rejects(faulty.create('a', A), kind('unknown'))
  await assert.rejects(faulty.create('b', A), kind('unknown'))
  assert.equal(await inner.read('a'), null)
  await inner.create('b', Buffer.from('other'))
  await faulty.doLate()
  assert.deepEqual(await inner.read('a'), new Uint8Array(A))
  assert.deepEqual(await inner.read('b'), new Uint8Array(Buffer.from('other')))
})

test('faults may change, and a chance gives some calls a fault', async t => {
  const { faulty } = await open(t, { isAway: true })
  await assert.rejects(faulty.read('a'), kind('away'))
  faulty.faults = { conflict: 1 }
  await assert.rejects(faulty.create('a', A), kind('conflict'))
  assert.equal(await faulty.read('a'), null)
  faulty.faults = { cut: 0.5, delayMs: 1 }
  const results = await Promise.allSettled(Array.from({ length: 100 }, () => faulty.read('a')))
  const failed = results.filter(({ status }) => status === 'rejected').length
  assert.ok(failed > 20 && failed < 80, `${failed} of 100`)
})

test('a test may stop a call before it begins', async t => {
  const seen: string[] = []
  const { inner, faulty } = await open(t, {}, (verb, key) => {
    seen.push(`${verb} ${key}`)
    if (verb === 'replace') throw new Error('stopped')
  })
  await faulty.write('a', A)
  await assert.rejects(faulty.replace('hint', A), /stopped/)
  assert.equal(await inner.read('hint'), null)
  assert.deepEqual(seen, ['write a', 'replace hint'])
})

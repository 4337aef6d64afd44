import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { type TestContext, test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { makeCredential } from '../clients/credential-record.ts'
import { AuthenticationBusy } from './mechanism.ts'
import { openPasswordChecks } from './password-checks.ts'

const LIMITS = { waiting: 4, waitingOfAddress: 3, waitMs: 20_000, remembered: 2 }
const ADDRESS = '192.0.2.1'
const OTHER = '192.0.2.2'
const random = seededRandom(1)

/** Counts the runs of PBKDF2 in this process, and the most that were under way together. */
function watch(t: TestContext) {
  const running = new Set<number>()
  const seen = { runs: 0, most: 0 }
  const hook = createHook({
    init(id, type) {
      if (type !== 'PBKDF2REQUEST') return
      seen.runs++
      seen.most = Math.max(seen.most, running.add(id).size)
    },
    before: id => void running.delete(id),
  }).enable()
  t.after(() => hook.disable())
  return seen
}

async function open() {
  const clock = new SimulatedClock()
  const make = (password: string, iterations = 4_096) =>
    makeCredential({ mechanism: 'PLAIN', iterations, tenantId: null }, password, random)
  return { clock, make, checks: openPasswordChecks({ clock, random }, LIMITS), ada: await make('right') }
}

test('a right password is checked once a minute, and a wrong one each time', async t => {
  const { clock, checks, ada } = await open()
  const seen = watch(t)
  const runs = async (password: string, isRight: boolean) => {
    const before = seen.runs
    assert.equal(await checks.isRight('ada', ada, password, ADDRESS), isRight)
    return seen.runs - before
  }
  assert.deepEqual([await runs('right', true), await runs('right', true)], [1, 0])
  assert.deepEqual([await runs('wrong', false), await runs('wrong', false)], [1, 1])
  await clock.advance(59_999)
  assert.equal(await runs('right', true), 0)
  await clock.advance(1)
  assert.equal(await runs('right', true), 1)
})

test('what was right for one credential says nothing about another user, salt or hash', async t => {
  const { checks, make, ada } = await open()
  const other = await make('other')
  assert.equal(await checks.isRight('ada', ada, 'right', ADDRESS), true)
  const seen = watch(t)
  assert.equal(await checks.isRight('bob', ada, 'right', ADDRESS), true)
  assert.equal(await checks.isRight('ada', other, 'right', ADDRESS), false)
  assert.equal(await checks.isRight('ada', { ...ada, salt: other.salt }, 'right', ADDRESS), false)
  assert.equal(await checks.isRight('ada', { ...ada, iterations: 4_097 }, 'right', ADDRESS), false)
  assert.equal(await checks.isRight('ada', { ...ada, passwordHash: other.passwordHash }, 'right', ADDRESS), false)
  assert.equal(seen.runs, 5)
})

test('only the newest right passwords are remembered', async t => {
  const { checks, make } = await open()
  const users = await Promise.all(['1', '2', '3'].map(async name => ({ name, credential: await make(name) })))
  const checkAll = async () => {
    for (const { name, credential } of users) assert.equal(await checks.isRight(name, credential, name, ADDRESS), true)
  }
  await checkAll()
  const seen = watch(t)
  assert.equal(await checks.isRight('3', users[2]!.credential, '3', ADDRESS), true)
  assert.equal(await checks.isRight('2', users[1]!.credential, '2', ADDRESS), true)
  assert.equal(seen.runs, 0)
  assert.equal(await checks.isRight('1', users[0]!.credential, '1', ADDRESS), true)
  assert.equal(seen.runs, 1)
})

test('clients that send the same password together share one check, right or wrong', async t => {
  const { checks, ada } = await open()
  const seen = watch(t)
  for (const [password, isRight] of [
    ['right', true],
    ['wrong', false],
  ] as const) {
    const all = await Promise.all(Array.from({ length: 100 }, () => checks.isRight('ada', ada, password, ADDRESS)))
    assert.deepEqual(new Set(all), new Set([isRight]))
  }
  assert.equal(seen.runs, 2)
})

test('two checks run together, a few wait, and more are refused as busy', async t => {
  const { checks, ada } = await open()
  const seen = watch(t)
  const tries = await Promise.allSettled(
    ['1', '2', '3', '4', '5', '6'].map((each, at) => checks.isRight('ada', ada, each, at < 4 ? ADDRESS : OTHER)),
  )
  assert.deepEqual(
    tries.map(each => (each.status === 'fulfilled' ? each.value : String(each.reason))),
    [
      ...[false, false, false],
      'AuthenticationBusy: 3 passwords of the address wait to be checked',
      false,
      'AuthenticationBusy: 4 passwords wait to be checked',
    ],
  )
  assert.deepEqual(seen, { runs: 4, most: 2 })
  assert.equal(await checks.isRight('ada', ada, 'right', ADDRESS), true)
})

test('checks of one address, however many and slow, let one of another address in between', async () => {
  const clock = new SimulatedClock()
  const checks = openPasswordChecks({ clock, random })
  const make = (password: string, iterations: number) =>
    makeCredential({ mechanism: 'PLAIN', iterations, tenantId: null }, password, random)
  const [slow, ada] = [await make('slow', 50_000), await make('right', 4_096)]
  let done = 0
  const flood = Array.from({ length: 40 }, async (_, at) => {
    await checks.isRight('slow', slow, `wrong ${at}`, ADDRESS)
    done++
  })
  assert.equal(await checks.isRight('ada', ada, 'right', OTHER), true)
  assert.ok(done <= 4, `${done} checks came first`)
  await Promise.all(flood)
})

test('a check that does not get its turn in time is refused as busy, and later ones are served', async () => {
  const { clock, checks, make, ada } = await open()
  const slow = await make('slow', 1_000_000)
  const tries = Promise.allSettled([
    checks.isRight('slow', slow, 'slow', ADDRESS),
    checks.isRight('slow', slow, 'wrong', ADDRESS),
    checks.isRight('ada', ada, 'right', ADDRESS),
  ])
  await clock.advance(20_000)
  const [one, other, late] = await tries
  assert.deepEqual(
    [one, other],
    [
      { status: 'fulfilled', value: true },
      { status: 'fulfilled', value: false },
    ],
  )
  assert.ok(late.status === 'rejected' && late.reason instanceof AuthenticationBusy)
  assert.match(String(late.reason), /not checked within 20 s/)
  assert.equal(await checks.isRight('ada', ada, 'right', ADDRESS), true)
})

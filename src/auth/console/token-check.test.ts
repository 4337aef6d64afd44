import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { systemRandom } from '../../base/random.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createSignInThrottle } from './sign-in-throttle.ts'
import { createTokenCheck } from './token-check.ts'

/** The defaults of the settings. */
const RULES = { maxFailures: 10, initialLockoutMs: 30_000, maxLockoutMs: 900_000 }
const RIGHT = 'the right token'

function open() {
  const clock = new SimulatedClock()
  const logger = createLogger({ clock, write() {}, format: 'plain' })
  const store = createMemoryStore(clock)
  const throttle = createSignInThrottle({ store, clock, random: systemRandom, logger, rules: RULES })
  const check = createTokenCheck({ throttle, logger, metrics: { count() {} } })
  const ask = async (given: string, address = '10.0.0.1', name = 'catalog') =>
    (await check(name, given, RIGHT, { address, isLocal: false, ended: undefined }))?.kind ?? 'right'
  const askOften = (times: number, given: string, address?: string) =>
    Promise.all(Array.from({ length: times }, () => ask(given, address)))
  return { clock, throttle, ask, askOften }
}

test('after ten wrong tokens in a row a network is locked out, also if they come at the same time', async () => {
  const { clock, ask, askOften } = open()
  const refused = await askOften(14, 'a wrong token')
  assert.deepEqual(refused, [...Array(10).fill('wrong-credentials'), ...Array(4).fill('locked-out')])
  assert.equal(await ask(RIGHT), 'locked-out')
  await clock.advance(30_000)
  assert.equal(await ask(RIGHT), 'right')
  assert.deepEqual(await askOften(9, 'a wrong token'), Array(9).fill('wrong-credentials'))
})

test('a network that is locked out locks out no other network, no other token and no user', async () => {
  const { throttle, ask, askOften } = open()
  await askOften(14, 'a wrong token')
  assert.equal(await ask(RIGHT, '10.0.0.2'), 'right')
  assert.equal(await ask(RIGHT, '10.0.0.1', 'another setting'), 'right')
  assert.equal(await throttle.lockedOutMs('catalog', '10.0.0.1'), 0)
})

test('a right token clears the wrong ones before it', async () => {
  const { ask, askOften } = open()
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(await askOften(9, 'a wrong token'), Array(9).fill('wrong-credentials'))
    assert.equal(await ask(RIGHT), 'right')
  }
})

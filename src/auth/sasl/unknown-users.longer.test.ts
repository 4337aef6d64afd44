// An unknown user costs the broker the time of a wrong password, and any number of unknown users leaves nothing behind.
// KETCH_LONG=1 tries more often.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { atLength, isLong } from '../../../testing/at-length.ts'
import { CHANNEL } from '../../../testing/scram-client.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { ITERATIONS, type Mechanism } from '../../api/words.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { KIND, makeCredential, rowsOf } from '../clients/credential-record.ts'
import type { SaslMechanism } from './mechanism.ts'
import { openPlain } from './plain.ts'
import { openScram } from './scram.ts'

async function open(mechanism: Mechanism): Promise<SaslMechanism> {
  const store = createMemoryStore(systemClock)
  const rooms = { store, clock: systemClock, random: seededRandom(1), unreadable: () => {} }
  const asked = { mechanism, iterations: ITERATIONS.fallback, tenantId: null }
  const changes = rowsOf(await makeCredential(asked, 'the right password', rooms.random))
  await store.commit({ kind: KIND, name: 'known', expect: 0, changes })
  return mechanism === 'PLAIN' ? openPlain(rooms) : openScram(rooms)
}

/** Fails one exchange. For SCRAM it sends a proof of zeros, which costs the broker the same as any other wrong one. */
async function fail(mechanism: SaslMechanism, name: string, attempt: number): Promise<void> {
  const exchange = mechanism.begin(CHANNEL)
  if (mechanism.name === 'PLAIN') {
    assert.equal((await exchange.step(Buffer.from(`\0${name}\0wrong ${attempt}`))).kind, 'failure')
    return
  }
  const first = await exchange.step(Buffer.from(`n,,n=${name},r=nonce`))
  assert(first.kind === 'continue')
  const [nonce] = Buffer.from(first.token).toString().split(',')
  const proof = Buffer.alloc(32).toString('base64')
  assert.equal((await exchange.step(Buffer.from(`c=biws,${nonce},p=${proof}`))).kind, 'failure')
}

for (const name of ['SCRAM-SHA-256', 'PLAIN'] as const) {
  test(`${name}: how long a refusal takes does not tell whether the user exists, in hundreds of tries`, async () => {
    const mechanism = await open(name)
    // The work of one turn must be long enough to be measured.
    const turn = name === 'PLAIN' ? 1 : isLong ? 50 : 10
    let attempt = 0
    const timed = async (user: string) => {
      const startedAt = systemClock.monotonic()
      for (let i = 0; i < turn; i++) await fail(mechanism, user, attempt++)
      return systemClock.monotonic() - startedAt
    }
    for (let i = 0; i < 20; i++) await timed(i % 2 === 0 ? 'known' : 'nobdy')
    const known: number[] = []
    const unknown: number[] = []
    // Both kinds side by side, so that other work of this machine delays both.
    for (let at = 0; at < (isLong ? 500 : atLength(150, 75)); at++) {
      known.push(await timed('known'))
      unknown.push(await timed('nobdy'))
      unknown.push(await timed('nobdy'))
      known.push(await timed('known'))
    }
    const median = (times: number[]) => times.sort((one, other) => one - other)[times.length / 2]!
    const ratio = median(unknown) / median(known)
    assert.ok(ratio > 0.8 && ratio < 1.2, `an unknown user takes ${ratio.toFixed(3)} of the time of a known one`)
  })
}

test('tens of thousands of names of failed logins leave no memory behind', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const mechanism = await open('SCRAM-SHA-256')
  const used = () => {
    collect()
    return process.memoryUsage().heapUsed
  }
  for (let i = 0; i < 5_000; i++) await fail(mechanism, `first${i}`, i)
  const before = used()
  const names = isLong ? 200_000 : atLength(50_000, 20_000)
  for (let i = 0; i < names; i++) await fail(mechanism, `name${i}`, i)
  const grown = used() - before
  assert.ok(grown < 1_000_000, `${grown} bytes`)
})

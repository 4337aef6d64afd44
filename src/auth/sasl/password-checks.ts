// Compares passwords with the stored PBKDF2 hashes of PLAIN, and with the keys of SCRAM that come from such a hash: two
// at a time, because one check takes a thread of Node's pool for milliseconds, and up to 150 ms with the most
// iterations. Clients that reconnect together share one check, and a password that was right is remembered for a
// minute. Of each address two checks at most stand in the line of all, so that an address with thousands of them, or
// with slow ones, keeps no other one waiting.
//
// The memory holds no password. Its keys are HMACs of the name, the stored credential and the password, with a random
// key of this process. After the credential has changed, no old key matches.

import { createHmac } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { type Patience, patience } from '../../base/patience.ts'
import type { Random } from '../../base/random.ts'
import { Semaphore } from '../../base/semaphore.ts'
import { type Credential, isPasswordOf } from '../clients/credential-record.ts'
import { AuthenticationBusy } from './mechanism.ts'

const AT_ONCE = 2
const REMEMBERED_MS = 60_000

const LIMITS = Object.freeze({
  /** The number of different checks that wait or run, and of those of one address. */
  waiting: 5_000,
  waitingOfAddress: 2_500,
  /** How long a check waits. After some more seconds `svc.broker.authentication-timeout` would close its client. */
  waitMs: 20_000,
  /** The number of right passwords that are remembered. */
  remembered: 10_000,
})
const KEY_BYTES = 32

export interface PasswordChecks {
  /**
   * Resolves with whether this is the password of the credential. `address` is that of the client. Throws
   * AuthenticationBusy if too many checks wait, or if its turn does not come in 20 s.
   */
  isRight(username: string, credential: Credential, password: string, address: string): Promise<boolean>
  /** Returns whether the password is remembered, which costs no hash. */
  isRemembered(username: string, credential: Credential, password: string): boolean
}

/** The checks of one address. */
interface Line {
  readonly turns: Semaphore
  checks: number
}

export function openPasswordChecks(
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  limits: Readonly<Record<keyof typeof LIMITS, number>> = LIMITS,
): PasswordChecks {
  const key = random.bytes(KEY_BYTES)
  const turns = new Semaphore(clock, AT_ONCE)
  let checks = 0
  /** By address. No entry is without a check. */
  const lines = new Map<string, Line>()
  const running = new Map<string, Promise<boolean>>()
  /** The end of the memory of each right password, on Clock.monotonic(); the earliest end is first. */
  const right = new Map<string, number>()

  async function check(credential: Credential, password: string, address: string) {
    const line = lines.get(address) ?? { turns: new Semaphore(clock, AT_ONCE), checks: 0 }
    if (checks >= limits.waiting) throw new AuthenticationBusy(`${checks} passwords wait to be checked`)
    if (line.checks >= limits.waitingOfAddress)
      throw new AuthenticationBusy(`${line.checks} passwords of the address wait to be checked`)
    lines.set(address, line)
    line.checks++
    checks++
    const waiting = patience(clock, clock.monotonic() + limits.waitMs)
    try {
      return await inTurn(line.turns, waiting, () => inTurn(turns, waiting, () => isPasswordOf(password, credential)))
    } finally {
      checks--
      if (--line.checks === 0) lines.delete(address)
    }
  }

  async function inTurn(turns: Semaphore, waiting: Patience, work: () => Promise<boolean>): Promise<boolean> {
    if (!(await turns.take(1, waiting)))
      throw new AuthenticationBusy(`the password was not checked within ${limits.waitMs / 1_000} s`)
    try {
      return await work()
    } finally {
      turns.give(1)
    }
  }

  function remember(name: string): void {
    const nowMs = clock.monotonic()
    // It moves to the end: the map stays in the order of the ends.
    right.delete(name)
    right.set(name, nowMs + REMEMBERED_MS)
    for (const [oldest, untilMs] of right) {
      if (right.size <= limits.remembered && untilMs > nowMs) return
      right.delete(oldest)
    }
  }

  function nameOf(username: string, { mechanism, passwordHash, salt, iterations }: Credential, password: string) {
    const said = JSON.stringify([username, mechanism, passwordHash, salt, iterations, password])
    return createHmac('sha256', key).update(said).digest('base64')
  }

  const isKnown = (name: string) => (right.get(name) ?? 0) > clock.monotonic()

  return {
    isRemembered: (username, credential, password) => isKnown(nameOf(username, credential, password)),

    async isRight(username, credential, password, address) {
      const name = nameOf(username, credential, password)
      if (isKnown(name)) return true
      const shared = running.get(name)
      if (shared !== undefined) return await shared
      const run = check(credential, password, address).finally(() => running.delete(name))
      running.set(name, run)
      const isRight = await run
      if (isRight) remember(name)
      return isRight
    },
  }
}

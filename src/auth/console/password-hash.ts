// Hashes passwords with argon2id, in PHC's string form `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`, so that each
// hash names its own parameters (RFC 9106; OWASP: password storage). Each hash takes 19 MiB and a thread for some 40
// ms. So only two are made at once, a limited number of callers wait, and the next caller is told that the broker is
// busy. Callers without a session wait in their own queue, with few places for one network, so that no host can keep
// the others out. This file does not know users and does not count failed attempts.

import { timingSafeEqual } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { Argon2Threads } from './argon2-threads.ts'

export interface Verdict {
  readonly kind: 'verdict'
  readonly isRight: boolean
  /** True if the hash has older parameters. The caller should hash the password again while it is known. */
  readonly isOutdated: boolean
}

/** Too many callers wait for a hash already. */
export interface Busy {
  readonly kind: 'busy'
}

/** A caller who is not signed in. */
export interface Stranger {
  /** The network, as `networkOf` names it. */
  readonly network: string
  /** Aborts when the client no longer waits for the answer. */
  readonly ended: AbortSignal | undefined
}

export interface PasswordHashes {
  /** Hashes a password for a caller who is signed in, or for the broker itself. */
  make(password: string): Promise<string | Busy>
  /**
   * Checks a password against a stored hash. `stored` is null for a user that does not exist: then the check takes
   * the same time and is never right. `stranger` is null for a caller who is signed in.
   */
  verify(password: string, stored: string | null, stranger: Stranger | null): Promise<Verdict | Busy>
}

/** The cost of a hash. */
export interface HashParameters {
  readonly memoryKiB: number
  readonly passes: number
  readonly lanes: number
}

const TODAY: HashParameters = Object.freeze({ memoryKiB: 19 * 1024, passes: 2, lanes: 1 })
const SALT_BYTES = 16
const TAG_BYTES = 32
const AT_ONCE = 2
/** The number of signed-in callers that may wait, and of strangers. */
const WAITING = 32
/** The number of strangers of one network that may wait. */
const WAITING_OF_NETWORK = 4

const BUSY: Busy = Object.freeze({ kind: 'busy' })

/**
 * Returns the functions that make and verify hashes. New hashes get the parameters `today`. Hashes with other
 * parameters stay valid.
 */
export function createPasswordHashes(random: Random, clock: Clock, today: HashParameters = TODAY): PasswordHashes {
  const threads = new Argon2Threads(clock)
  const gated = createGate()
  const nobodys = encode(today, random.bytes(SALT_BYTES), random.bytes(TAG_BYTES))

  return {
    make: password =>
      gated(null, async () => {
        const salt = random.bytes(SALT_BYTES)
        return encode(today, salt, await threads.hash(inputOf(password, salt, today, TAG_BYTES)))
      }),

    verify: (password, stored, stranger) =>
      gated(stranger, async () => {
        const { parameters, salt, tag } = decode(stored ?? nobodys)
        const derived = await threads.hash(inputOf(password, salt, parameters, tag.length))
        const isRight = timingSafeEqual(derived, tag) && stored !== null
        return { kind: 'verdict', isRight, isOutdated: encode(today, salt, tag) !== stored }
      }),
  }
}

type Gate = <T>(stranger: Stranger | null, work: () => Promise<T>) => Promise<T | Busy>

function createGate(): Gate {
  let running = 0
  const waiting: Record<'signedIn' | 'strangers', { readonly network: string | null; begin(): void }[]> = {
    signedIn: [],
    strangers: [],
  }

  /** Resolves with true when the caller's turn comes; false if there is no place to wait or the caller has left. */
  function turn(stranger: Stranger | null): Promise<boolean> {
    const line = stranger === null ? waiting.signedIn : waiting.strangers
    const network = stranger?.network ?? null
    const neighbours = line.filter(each => each.network === network).length
    if (line.length >= WAITING || (stranger !== null && neighbours >= WAITING_OF_NETWORK)) return Promise.resolve(false)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = { network, begin: () => resolve(true) }
    line.push(waiter)
    const leave = () => {
      const at = line.indexOf(waiter)
      if (at < 0) return
      line.splice(at, 1)
      resolve(false)
    }
    stranger?.ended?.addEventListener('abort', leave, { once: true })
    return promise
  }

  return async (stranger, work) => {
    if (stranger?.ended?.aborted) return BUSY
    if (running < AT_ONCE) running++
    else if (!(await turn(stranger))) return BUSY
    try {
      return await work()
    } finally {
      // The place goes directly to the next waiting caller, so that no new caller takes it first.
      const next = waiting.signedIn.shift() ?? waiting.strangers.shift()
      if (next === undefined) running--
      else next.begin()
    }
  }
}

/** Returns the input of argon2. Canonically equal Unicode texts are the same password (RFC 8265, OpaqueString). */
function inputOf(password: string, nonce: Buffer, { memoryKiB, passes, lanes }: HashParameters, tagLength: number) {
  const message = Buffer.from(password.normalize('NFC'))
  return { message, nonce, parallelism: lanes, tagLength, memory: memoryKiB, passes }
}

function encode({ memoryKiB, passes, lanes }: HashParameters, salt: Buffer, tag: Buffer): string {
  return `$argon2id$v=19$m=${memoryKiB},t=${passes},p=${lanes}$${unpadded(salt)}$${unpadded(tag)}`
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}

const FORM = /^\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,4}),p=(\d{1,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

function decode(stored: string): { readonly parameters: HashParameters; readonly salt: Buffer; readonly tag: Buffer } {
  const match = FORM.exec(stored)
  assert(match !== null, 'a password hash in the store is not in a form that this version reads')
  const [, memoryKiB, passes, lanes, salt, tag] = match
  return {
    parameters: { memoryKiB: Number(memoryKiB), passes: Number(passes), lanes: Number(lanes) },
    salt: Buffer.from(salt!, 'base64'),
    tag: Buffer.from(tag!, 'base64'),
  }
}

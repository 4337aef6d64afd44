// Passwords at rest: argon2id in PHC's string form, `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`, so that what a hash was made
// with stands beside it (RFC 9106; OWASP: password storage). Each hash takes 19 MiB and a thread for some 40 ms, so few are made
// at once, few wait, and whoever comes then is told that it is busy. Strangers wait apart, a few of one network, so that no host
// keeps the others out. Whose password it is and who guesses is not decided here.

import { timingSafeEqual } from 'node:crypto'
import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { Argon2Threads } from './argon2-threads.ts'

export interface Verdict {
  readonly kind: 'verdict'
  readonly isRight: boolean
  /** Made with other parameters than a hash of today: worth making again while the password is at hand. */
  readonly isOutdated: boolean
}

/** Too many hashes are waited for already. */
export interface Busy {
  readonly kind: 'busy'
}

/** Somebody who is not signed in. */
export interface Stranger {
  /** As `networkOf` names it. */
  readonly network: string
  /** Aborts when nobody waits for the answer any more. */
  readonly ended: AbortSignal | undefined
}

export interface PasswordHashes {
  /** For somebody who is signed in, or for the broker itself. */
  make(password: string): Promise<string | Busy>
  /** `stored` null stands for a user that does not exist: as long, and never right. `stranger` null: for somebody who is signed in. */
  verify(password: string, stored: string | null, stranger: Stranger | null): Promise<Verdict | Busy>
}

/** What a hash costs. */
export interface HashParameters {
  readonly memoryKiB: number
  readonly passes: number
  readonly lanes: number
}

const TODAY: HashParameters = Object.freeze({ memoryKiB: 19 * 1024, passes: 2, lanes: 1 })
const SALT_BYTES = 16
const TAG_BYTES = 32
const AT_ONCE = 2
/** Of those who are signed in, and of strangers. */
const WAITING = 32
/** Strangers of one network. */
const WAITING_OF_NETWORK = 4

const BUSY: Busy = Object.freeze({ kind: 'busy' })

/** Hashes of other parameters than `today` are right still. */
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

  /** Resolves with whether it is the caller's turn: there may be no place to wait, or nobody who waits any more. */
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
      // The place goes to the next one as it is, so that nobody who comes meanwhile takes it.
      const next = waiting.signedIn.shift() ?? waiting.strangers.shift()
      if (next === undefined) running--
      else next.begin()
    }
  }
}

/** One password is one text: canonically equal ways of writing it are the same (RFC 8265, OpaqueString). */
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

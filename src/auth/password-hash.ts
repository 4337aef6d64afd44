// Passwords at rest: argon2id in PHC's string form, `$argon2id$v=19$m=19456,t=2,p=1$<salt>$<tag>`, so that what a hash was made
// with stands beside it (RFC 9106; OWASP: password storage). Each hash takes 19 MiB and a thread for some 40 ms, so few are made
// at once, few wait, and whoever comes then is told that it is busy. Whose password it is and who guesses is not decided here.

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

export interface PasswordHashes {
  make(password: string): Promise<string | Busy>
  /** Null stands for a user that does not exist: as long, and never right. */
  verify(password: string, stored: string | null): Promise<Verdict | Busy>
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
const WAITING = 32

const BUSY: Busy = Object.freeze({ kind: 'busy' })

/** Hashes of other parameters than `today` are right still. */
export function createPasswordHashes(random: Random, clock: Clock, today: HashParameters = TODAY): PasswordHashes {
  const threads = new Argon2Threads(clock)
  let running = 0
  const waiting: (() => void)[] = []
  const nobodys = encode(today, random.bytes(SALT_BYTES), random.bytes(TAG_BYTES))

  async function gated<T>(work: () => Promise<T>): Promise<T | Busy> {
    if (running >= AT_ONCE) {
      if (waiting.length >= WAITING) return BUSY
      await new Promise<void>(resolve => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      // The place goes to the next one as it is, so that nobody who comes meanwhile takes it.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }

  return {
    make: password =>
      gated(async () => {
        const salt = random.bytes(SALT_BYTES)
        return encode(today, salt, await threads.hash(inputOf(password, salt, today, TAG_BYTES)))
      }),

    verify: (password, stored) =>
      gated(async () => {
        const { parameters, salt, tag } = decode(stored ?? nobodys)
        const derived = await threads.hash(inputOf(password, salt, parameters, tag.length))
        const isRight = timingSafeEqual(derived, tag) && stored !== null
        return { kind: 'verdict', isRight, isOutdated: encode(today, salt, tag) !== stored }
      }),
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

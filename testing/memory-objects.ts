// A place for objects in memory, as tests of tables need it: it stamps objects with a clock of the test, lets a test
// stop before or after each call, and loses answers by a seed. objects/conformance.ts has one test for each promise of
// the port; this twin keeps those that tables rely on.

import type { Clock } from '../src/base/clock.ts'
import type { Random } from '../src/base/random.ts'
import { checkRange } from '../src/tier/objects/byte-range.ts'
import {
  type ByteRange,
  checkKey,
  compareKeys,
  type ListedObject,
  ObjectStoreError,
  type Objects,
} from '../src/tier/objects/objects.ts'

interface Held {
  readonly bytes: Buffer
  readonly changedAtMs: number
}

export class MemoryObjects implements Objects {
  readonly uri: string
  readonly held = new Map<string, Held>()
  readonly #clock: Pick<Clock, 'now'>

  constructor(clock: Pick<Clock, 'now'>, uri = 's3://bucket/tier') {
    this.#clock = clock
    this.uri = uri
  }

  async read(key: string, range?: ByteRange): Promise<Uint8Array<ArrayBuffer> | null> {
    checkKey(key)
    checkRange(range)
    const found = this.held.get(key)
    return found === undefined ? null : new Uint8Array(found.bytes.subarray(range?.start ?? 0, range?.end))
  }

  async stat(key: string) {
    const found = this.held.get(key)
    return found === undefined ? null : { size: found.bytes.length, changedAtMs: found.changedAtMs }
  }

  async write(key: string, parts: AsyncIterable<Uint8Array> | Uint8Array) {
    // The caller may free a part when it is asked for the next one.
    const whole = parts instanceof Uint8Array ? [parts] : await Array.fromAsync(parts, part => Uint8Array.from(part))
    const bytes = Buffer.concat(whole)
    this.#hold(key, bytes)
    return { size: bytes.length }
  }

  async create(key: string, bytes: Uint8Array): Promise<'created' | 'exists'> {
    if (this.held.has(key)) return 'exists'
    this.#hold(key, bytes)
    return 'created'
  }

  async replace(key: string, bytes: Uint8Array): Promise<void> {
    this.#hold(key, bytes)
  }

  async *list(prefix: string): AsyncIterable<ListedObject> {
    for (const key of [...this.held.keys()].filter(each => each.startsWith(prefix)).sort(compareKeys)) {
      const facts = await this.stat(key)
      if (facts !== null) yield { key, ...facts }
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.held.delete(key)
  }

  async close(): Promise<void> {}

  #hold(key: string, bytes: Uint8Array): void {
    checkKey(key)
    this.held.set(key, { bytes: Buffer.from(bytes), changedAtMs: this.#clock.now() })
  }
}

export type Verb = 'read' | 'stat' | 'write' | 'create' | 'replace' | 'list' | 'delete'

/** A call of the port: its verb, and the key, the prefix, or the first of several keys. */
export interface Call {
  readonly verb: Verb
  readonly key: string
}

export interface Hooks {
  /** Called before the call has an effect; it throws to prevent the effect. */
  before?(call: Call): void | Promise<void>
  /** Called after the effect; it throws to lose the answer. */
  after?(call: Call): void | Promise<void>
}

/** Returns the place with hooks around each call. Deletes happen key by key, so that a hook can stop between them. */
export function withHooks(objects: Objects, { before = () => {}, after = () => {} }: Hooks): Objects {
  const around = async <T>(verb: Verb, key: string, work: () => Promise<T>): Promise<T> => {
    await before({ verb, key })
    const result = await work()
    await after({ verb, key })
    return result
  }
  return {
    uri: objects.uri,
    read: (key, range) => around('read', key, () => objects.read(key, range)),
    stat: key => around('stat', key, () => objects.stat(key)),
    write: (key, parts) => around('write', key, () => objects.write(key, parts)),
    create: (key, bytes) => around('create', key, () => objects.create(key, bytes)),
    replace: (key, bytes) => around('replace', key, () => objects.replace(key, bytes)),
    async *list(prefix) {
      await before({ verb: 'list', key: prefix })
      yield* objects.list(prefix)
      await after({ verb: 'list', key: prefix })
    },
    async delete(keys) {
      for (const key of keys) await around('delete', key, () => objects.delete([key]))
    },
    close: () => objects.close(),
  }
}

/** Shares of the calls, from 0 to 1. */
export interface Faults {
  /** The effect happens, and the answer is lost. */
  readonly lost: number
  /** The request does not arrive. */
  readonly away: number
  /** A create is answered with a conflict. */
  readonly conflict: number
  /** A create is answered as unknown, and its effect comes later. */
  readonly late: number
}

const isBelow = (random: Random, share: number) => random.below(1_000_000) < share * 1_000_000

/**
 * Returns the place with faults by the seed of `random`. Each call takes some turns of the event loop, so that callers
 * meet in any order.
 */
export function withFaults(objects: Objects, faults: Faults, random: Random): Objects {
  const turns = async (most: number) => {
    for (let left = random.below(most); left > 0; left--) await new Promise(resolve => setImmediate(resolve))
  }
  const away = ({ verb, key }: Call, why: string) =>
    new ObjectStoreError(verb === 'create' ? 'unknown' : 'away', `${verb} ${key}: ${why}`)
  const hooked = withHooks(objects, {
    async before(call) {
      await turns(4)
      if (call.verb === 'create' && isBelow(random, faults.conflict))
        throw new ObjectStoreError('conflict', `create ${call.key}: 409`)
      if (isBelow(random, faults.away)) throw away(call, 'it did not arrive')
    },
    async after(call) {
      await turns(4)
      if (isBelow(random, faults.lost)) throw away(call, 'the answer was lost')
    },
  })
  // As the adapters do, every call but a create is attempted three times.
  const thrice = async <T>(work: () => Promise<T>): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (attempt === 3 || !(error instanceof ObjectStoreError)) throw error
      }
    }
  }
  return {
    ...hooked,
    read: (key, range) => thrice(() => hooked.read(key, range)),
    stat: key => thrice(() => hooked.stat(key)),
    write: (key, parts) => thrice(() => hooked.write(key, parts)),
    replace: (key, bytes) => thrice(() => hooked.replace(key, bytes)),
    delete: keys => thrice(() => hooked.delete(keys)),
    async create(key, bytes) {
      if (!isBelow(random, faults.late)) return hooked.create(key, bytes)
      void turns(40).then(() => objects.create(key, bytes))
      throw new ObjectStoreError('unknown', `create ${key}: it is still on its way`)
    },
  }
}

/** The process died: no call has an effect any more. */
export class Crash extends Error {
  override readonly name = 'Crash'
}

/**
 * Returns the place for a process that dies at its nth change, counted from 0: before the effect, or after it. `steps`
 * counts the changes; with a step that is never reached it measures how many there are.
 */
export function crashing(objects: Objects, step: number, when: 'before' | 'after') {
  const state = { steps: 0, isDead: false }
  const changes = (verb: Verb) => verb === 'write' || verb === 'create' || verb === 'replace' || verb === 'delete'
  const die = () => {
    state.isDead = true
    throw new Crash(`at step ${step}, ${when} its effect`)
  }
  const hooked = withHooks(objects, {
    before({ verb }) {
      if (state.isDead) throw new Crash('the process is dead')
      if (changes(verb) && when === 'before' && state.steps++ === step) die()
    },
    after({ verb }) {
      if (changes(verb) && when === 'after' && state.steps++ === step) die()
    },
  })
  return { objects: hooked, state }
}

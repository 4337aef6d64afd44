// Wraps a place for objects and makes its calls fail as a store on a network fails, at random from a seed. It keeps the
// promises of the port: a call that fails has changed as much or as little as objects.ts allows.

import { type Clock, sleep } from '../src/base/clock.ts'
import type { Random } from '../src/base/random.ts'
import { ObjectStoreError, type Objects } from '../src/tier/objects/objects.ts'

/** Each number from 0 to 1 is the chance of a call; 0 by default. */
export interface ObjectFaults {
  /** The call has its effect, and its caller gets 'away', or 'unknown' from a create. */
  readonly lostAnswer?: number
  /** The call has no effect, and its caller gets 'away', or 'unknown' from a create. */
  readonly lostRequest?: number
  /** A create gets 'unknown' and has its effect when `doLate` is called. */
  readonly lateCreate?: number
  /** A create gets 'conflict' and has no effect. */
  readonly conflict?: number
  /** The call has no effect and gets 'refused'. */
  readonly refused?: number
  /** A read fails in its middle and gets 'away'. Parts of a write are cut: the object does not exist. */
  readonly cut?: number
  /** Each call waits for up to this long before it begins. */
  readonly delayMs?: number
  /** Each call gets 'away' and has no effect. */
  readonly isAway?: boolean
}

export type ObjectVerb = 'read' | 'stat' | 'write' | 'create' | 'replace' | 'list' | 'delete'

export interface FaultyObjects extends Objects {
  /** The faults of the calls from now on. */
  faults: ObjectFaults
  /** The number of faults so far. */
  readonly faultCount: number
  /** Does the creates that were late, in random order. A create that then meets an object does nothing. */
  doLate(): Promise<void>
}

export interface FaultyOptions {
  readonly clock: Clock
  readonly random: Random
  readonly faults?: ObjectFaults
  /** Called before each call. If it throws, the call has no effect and its caller gets the error. */
  readonly before?: (verb: ObjectVerb, key: string) => void | Promise<void>
}

/** Closing it closes the place. */
export function faultyObjects(objects: Objects, { clock, random, faults = {}, before }: FaultyOptions): FaultyObjects {
  const late: (() => Promise<unknown>)[] = []
  let faultCount = 0

  const chance = (probability = 0): boolean => {
    if (probability <= 0 || random.below(1 << 20) >= probability * (1 << 20)) return false
    faultCount++
    return true
  }

  async function around<T>(verb: ObjectVerb, key: string, effect: () => Promise<T>): Promise<T> {
    await before?.(verb, key)
    const { delayMs = 0, isAway = false, refused, lostRequest, lostAnswer, cut, conflict, lateCreate } = faulty.faults
    if (delayMs > 0) await sleep(clock, random.below(delayMs + 1))
    const fail = (kind: ObjectStoreError['kind'], why: string) =>
      new ObjectStoreError(kind, `cannot ${verb} ${objects.uri}/${key}: ${why} (an injected fault)`)
    const lost = verb === 'create' ? 'unknown' : 'away'
    if (isAway) throw fail('away', 'the store is away')
    if (chance(refused)) throw fail('refused', 'Access Denied')
    if (verb === 'create' && chance(conflict)) throw fail('conflict', 'another create is in flight')
    if (verb === 'create' && chance(lateCreate)) {
      late.push(effect)
      throw fail('unknown', 'the request is late')
    }
    if (chance(lostRequest)) throw fail(lost, 'the request was lost')
    if ((verb === 'read' || verb === 'write') && chance(cut)) throw fail('away', 'the connection was cut')
    const result = await effect()
    if (chance(lostAnswer)) throw fail(lost, 'the answer was lost')
    return result
  }

  const faulty: FaultyObjects = {
    faults,
    uri: objects.uri,
    get faultCount() {
      return faultCount
    },
    read: (key, range) => around('read', key, () => objects.read(key, range)),
    stat: key => around('stat', key, () => objects.stat(key)),
    write: (key, parts) => around('write', key, () => objects.write(key, parts)),
    create: (key, bytes) => around('create', key, () => objects.create(key, bytes)),
    replace: (key, bytes) => around('replace', key, () => objects.replace(key, bytes)),
    async *list(prefix) {
      yield* await around('list', prefix, async () => objects.list(prefix))
    },
    delete: keys => around('delete', keys[0] ?? '', () => objects.delete(keys)),
    close: () => objects.close(),
    async doLate() {
      while (late.length > 0) await late.splice(random.below(late.length), 1)[0]!()
    },
  }
  return faulty
}

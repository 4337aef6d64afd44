// Judges a history (testing/history.ts): was an acknowledged value lost, duplicated, moved, reordered or invented? It
// follows jepsen-io/jepsen jepsen/src/jepsen/tests/kafka.clj and adds checks of real time, of committed offsets and
// of bytes. It knows nothing about the clients and uses only the history.
//
// The order of the versions of a key is the order of its offsets, as any client saw them. The *place* of an offset is
// its rank in this order. Cost: O(V log V) for V values sent or seen; memory O(V).

import { assert } from '../src/base/assert.ts'
import type { Compaction } from './compaction.ts'
import type { History, Key, Op, Seen } from './history.ts'

/** Every verdict with its meaning. */
export const ANOMALIES = Object.freeze({
  'inconsistent-offsets': 'one offset held two values',
  duplicate: 'one value stood at two offsets',
  'lost-write': 'a value that took effect, below offsets that were read, was never read',
  unseen: 'an acknowledged value was never read',
  'aborted-read': 'a value whose send certainly failed was read (G1a)',
  phantom: 'a value was read that was never sent',
  'read-from-future': 'a poll returned a value before its send began',
  'precommitted-read': 'a transaction read its own writes',
  'int-poll-skip': 'one poll passed over a value',
  'int-nonmonotonic-poll': 'one poll went backwards',
  'poll-skip': 'a process passed over a value between two polls',
  'nonmonotonic-poll': 'a process went backwards between two polls',
  'int-nonmonotonic-send': 'the values of one send were stored out of their order',
  'nonmonotonic-send': 'two sends of one process were stored out of their order',
  'realtime-order': 'a send that began after another was acknowledged got a lower offset',
  'write-read-cycle': 'operations read from each other in a circle (G1c)',
  'unstable-bytes': 'one offset was read with two different checksums',
  hole: 'an offset between the first and the last was never seen',
  'committed-backwards': 'a committed offset went backwards within a generation',
  'committed-stale': 'a committed offset was read that had been replaced before the reading began',
  'committed-phantom': 'a committed offset was read that was never committed',
  'zombie-commit': 'a commit of an old generation was accepted',
})

export type AnomalyKind = keyof typeof ANOMALIES

export interface Anomaly {
  readonly kind: AnomalyKind
  /** One line for people: key, values, offsets, and the indexes of the operations. */
  readonly detail: string
}

export interface Expectations {
  /**
   * `none`: every duplicate is an anomaly (clients that never retry). `plain-producers`: only an idempotent
   * producer's.
   */
  readonly duplicates: 'none' | 'plain-producers'
  /** True if the history ends with a read of everything. Otherwise an unread value may just not have been read yet. */
  readonly complete: boolean
  /** True if offsets have no gaps: no transactions, no compaction, no `offset.sequence.bits`. */
  readonly dense: boolean
  /**
   * The records of a compacted topic: one may be missing once a newer one of its key is there, and a tombstone at any
   * time. A batch gets another checksum when the cleaner removes records from it. Null: no topic is compacted.
   */
  readonly compaction: Compaction | null
}

const STRICT: Expectations = { duplicates: 'none', complete: true, dense: true, compaction: null }

/** An operation with its begin and its end. If it never ended, it is unknown (`info`) and ends at Infinity. */
interface Done extends Omit<Op, 'type' | 'time'> {
  readonly type: 'ok' | 'fail' | 'info'
  readonly begunAt: number
  readonly endedAt: number
}

/** The facts of the history about one key. */
interface KeyStory {
  readonly writers: Map<number, Done>
  readonly readValues: Set<number>
  readonly valuesAt: Map<number, number | Set<number>>
  readonly crcAt: Map<number, number>
  /** Set by `rankOffsets`. */
  offsets: readonly number[]
  placeOf: ReadonlyMap<number, number>
  firstPlace: ReadonlyMap<number, number>
  lastPlace: ReadonlyMap<number, number>
  /** By place: how many of the offsets below it compaction must have kept. */
  firmBelow: readonly number[]
}

/**
 * Returns every anomaly of the history. `expectations` relaxes the default `STRICT`. The list is empty if nothing is
 * wrong.
 */
export function checkHistory(
  ops: readonly Op[] | Pick<History, 'ops'>,
  expectations: Partial<Expectations> = {},
): readonly Anomaly[] {
  const expected = { ...STRICT, ...expectations }
  const done = pairUp('ops' in ops ? ops.ops : ops)
  const found: Anomaly[] = []
  const report = (kind: AnomalyKind, detail: string) => void found.push({ kind, detail })
  const stories = tellStories(done, expected.compaction, report)
  checkDuplicates(stories, expected, report)
  checkLosses(stories, expected, report)
  checkReads(done, stories, report)
  checkPollOrder(done, stories, report)
  checkSendOrder(done, stories, report)
  checkRealTime(done, report)
  checkCycles(done, stories, report)
  checkCommits(done, report)
  return found
}

/** Returns the text for a failed test: the count of each kind, with the details of the first few anomalies. */
export function describeAnomalies(anomalies: readonly Anomaly[], examples = 3): string {
  const byKind = Map.groupBy(anomalies, anomaly => anomaly.kind)
  return [...byKind]
    .map(([kind, those]) => {
      const shown = those.slice(0, examples).map(anomaly => `    ${anomaly.detail}`)
      return [`${kind} × ${those.length} (${ANOMALIES[kind]})`, ...shown].join('\n')
    })
    .join('\n')
}

type Report = (kind: AnomalyKind, detail: string) => void

function pairUp(ops: readonly Op[]): Done[] {
  const open = new Map<number, Op>()
  const done: Done[] = []
  for (const op of ops) {
    if (op.f === 'fault') continue
    if (op.type === 'invoke') {
      assert(!open.has(op.process), `operation ${op.index}: process ${op.process} began twice without an end`)
      open.set(op.process, op)
      continue
    }
    const begun = open.get(op.process)
    assert(begun !== undefined, `operation ${op.index}: process ${op.process} ended what it never began`)
    open.delete(op.process)
    done.push({ ...op, type: op.type, begunAt: begun.time, endedAt: op.time })
  }
  for (const op of open.values()) done.push({ ...op, type: 'info', begunAt: op.time, endedAt: Infinity })
  return done
}

function* sendsOf(op: Done): Generator<readonly [key: Key, offset: number | null, value: number]> {
  for (const micro of op.value) {
    if (micro[0] !== 'send') continue
    const [, key, what] = micro
    if (typeof what === 'number') yield [key, null, what]
    else yield [key, what[0], what[1]]
  }
}

function* pollsOf(op: Done): Generator<readonly [key: Key, seen: readonly Seen[]]> {
  for (const micro of op.value) if (micro[0] === 'poll' && micro[1] !== undefined) yield* Object.entries(micro[1])
}

function tellStories(done: readonly Done[], compaction: Compaction | null, report: Report): Map<Key, KeyStory> {
  const stories = new Map<Key, KeyStory>()
  const storyOf = (key: Key): KeyStory => {
    let story = stories.get(key)
    if (story === undefined) {
      const none: ReadonlyMap<number, number> = new Map()
      story = {
        writers: new Map(),
        readValues: new Set(),
        valuesAt: new Map(),
        crcAt: new Map(),
        offsets: [],
        placeOf: none,
        firstPlace: none,
        lastPlace: none,
        firmBelow: [],
      }
      stories.set(key, story)
    }
    return story
  }
  for (const op of done) {
    for (const [key, , value] of sendsOf(op)) {
      const { writers } = storyOf(key)
      assert(!writers.has(value), `operation ${op.index}: value ${value} was sent before; values must be unique`)
      writers.set(value, op)
    }
    if (op.type !== 'ok') continue
    for (const [key, seen] of pollsOf(op)) for (const [, value] of seen) storyOf(key).readValues.add(value)
  }
  for (const op of done) {
    for (const [key, seen] of pollsOf(op)) {
      const story = storyOf(key)
      for (const [offset, value, crc] of seen) {
        see(story, offset, value)
        if (crc === undefined || compaction !== null) continue
        const before = story.crcAt.get(offset)
        if (before === undefined) story.crcAt.set(offset, crc)
        else if (before !== crc) {
          report('unstable-bytes', `${key} offset ${offset}: checksum ${before}, then ${crc} (operation ${op.index})`)
        }
      }
    }
    if (!tookEffect(op, stories)) continue
    for (const [key, offset, value] of sendsOf(op)) if (offset !== null) see(storyOf(key), offset, value)
  }
  for (const [key, story] of stories) {
    rankOffsets(key, story, report)
    story.firmBelow = countFirm(story, compaction)
  }
  return stories
}

function see(story: KeyStory, offset: number, value: number): void {
  const known = story.valuesAt.get(offset)
  if (known === undefined) story.valuesAt.set(offset, value)
  else if (known instanceof Set) known.add(value)
  else if (known !== value) story.valuesAt.set(offset, new Set([known, value]))
}

/**
 * Returns whether the operation's sends certainly happened: it was acknowledged, or is unknown and one of its values
 * was read.
 */
function tookEffect(op: Done, stories: ReadonlyMap<Key, KeyStory>): boolean {
  if (op.type !== 'info') return op.type === 'ok'
  for (const [key, , value] of sendsOf(op)) if (stories.get(key)!.readValues.has(value)) return true
  return false
}

function rankOffsets(key: Key, story: KeyStory, report: Report): void {
  const offsets = [...story.valuesAt.keys()].sort((a, b) => a - b)
  const placeOf = new Map<number, number>()
  const firstPlace = new Map<number, number>()
  const lastPlace = new Map<number, number>()
  offsets.forEach((offset, place) => {
    placeOf.set(offset, place)
    const at = story.valuesAt.get(offset)!
    const values = at instanceof Set ? [...at] : [at]
    if (values.length > 1) report('inconsistent-offsets', `${key} offset ${offset}: values ${values.join(' and ')}`)
    for (const value of values) {
      if (!firstPlace.has(value)) firstPlace.set(value, place)
      lastPlace.set(value, place)
    }
  })
  Object.assign(story, { offsets, placeOf, firstPlace, lastPlace })
}

/** Returns by place how many of the offsets below it compaction must have kept. */
function countFirm({ offsets, valuesAt, writers, readValues }: KeyStory, compaction: Compaction | null): number[] {
  const isFirm = new Array<boolean>(offsets.length).fill(true)
  if (compaction !== null) {
    // A tombstone without an answer may have removed its key, and then have gone unseen.
    const removed = new Set<string>()
    for (const [value, { type }] of writers)
      if (type === 'info' && compaction.isTombstone(value) && !readValues.has(value))
        removed.add(compaction.keyOf(value))
    const newer = new Set<string>()
    for (let place = offsets.length - 1; place >= 0; place--) {
      const at = valuesAt.get(offsets[place]!)!
      const value = at instanceof Set ? [...at][0]! : at
      const key = compaction.keyOf(value)
      isFirm[place] = !newer.has(key) && !removed.has(key) && !compaction.isTombstone(value)
      newer.add(key)
    }
  }
  const below = [0]
  for (const firm of isFirm) below.push(below.at(-1)! + (firm ? 1 : 0))
  return below
}

/** Returns how many of the offsets of these places compaction must have kept. */
function firmBetween({ firmBelow }: KeyStory, from: number, to: number): number {
  return firmBelow[to]! - firmBelow[from]!
}

function checkDuplicates(stories: ReadonlyMap<Key, KeyStory>, expected: Expectations, report: Report): void {
  for (const [key, story] of stories) {
    for (const [value, first] of story.firstPlace) {
      const last = story.lastPlace.get(value)!
      if (first === last) continue
      if (expected.duplicates === 'plain-producers' && story.writers.get(value)?.idempotent !== true) continue
      report('duplicate', `${key} value ${value}: offsets ${story.offsets[first]} and ${story.offsets[last]}`)
    }
  }
}

function checkLosses(stories: ReadonlyMap<Key, KeyStory>, expected: Expectations, report: Report): void {
  for (const [key, story] of stories) {
    let furthestRead = -1
    for (const value of story.readValues) furthestRead = Math.max(furthestRead, story.firstPlace.get(value) ?? -1)
    for (const [value, place] of story.lastPlace) {
      if (place > furthestRead || story.readValues.has(value)) continue
      const writer = story.writers.get(value)
      if (writer === undefined || !tookEffect(writer, stories) || firmBetween(story, place, place + 1) === 0) continue
      report('lost-write', `${key} value ${value} at offset ${story.offsets[place]}, sent by operation ${writer.index}`)
    }
    if (expected.complete) {
      for (const [value, writer] of story.writers) {
        if (writer.type !== 'ok' || story.readValues.has(value)) continue
        const place = story.lastPlace.get(value)
        if (place === undefined ? expected.compaction !== null : firmBetween(story, place, place + 1) === 0) continue
        report('unseen', `${key} value ${value}, acknowledged by operation ${writer.index}`)
      }
    }
    if (expected.dense) {
      story.offsets.forEach((offset, place) => {
        const before = place === 0 ? offset - 1 : story.offsets[place - 1]!
        if (offset !== before + 1) report('hole', `${key}: offsets ${before + 1} to ${offset - 1} were never seen`)
      })
    }
  }
}

function checkReads(done: readonly Done[], stories: ReadonlyMap<Key, KeyStory>, report: Report): void {
  for (const op of done) {
    if (op.type !== 'ok') continue
    for (const [key, seen] of pollsOf(op)) {
      for (const [offset, value] of seen) {
        const writer = stories.get(key)!.writers.get(value)
        const where = `${key} value ${value} at offset ${offset}, read by operation ${op.index}`
        if (writer === undefined) report('phantom', where)
        else if (writer.type === 'fail') report('aborted-read', `${where}, failed in operation ${writer.index}`)
        else if (op.f === 'txn' && writer === op) report('precommitted-read', where)
        else if (op.endedAt < writer.begunAt) report('read-from-future', `${where}, sent by operation ${writer.index}`)
      }
    }
  }
}

function checkPollOrder(done: readonly Done[], stories: ReadonlyMap<Key, KeyStory>, report: Report): void {
  const lastPlaces = new Map<number, Map<Key, number>>()
  for (const op of done) {
    const last = lastPlaces.get(op.process) ?? new Map<Key, number>()
    lastPlaces.set(op.process, last)
    // An assign keeps the positions of the keys that stay. A subscribe begins again at the committed offsets.
    if (op.f === 'subscribe' && op.type !== 'fail') last.clear()
    if (op.f === 'assign' && op.type !== 'fail') {
      const kept = new Set(op.value.flatMap(micro => (micro[0] === 'keys' ? micro[1] : [])))
      for (const key of last.keys()) if (!kept.has(key)) last.delete(key)
    }
    for (const [key, seen] of pollsOf(op)) {
      const story = stories.get(key)!
      const { placeOf } = story
      const moved = op.rebalanced?.includes(key) === true
      let previous: number | null = null
      for (const [offset] of seen) {
        const place = placeOf.get(offset)!
        const inside = previous !== null
        const before = previous ?? last.get(key)
        previous = place
        if (before === undefined || moved || place === before + 1) continue
        const detail = `${key} operation ${op.index} of process ${op.process}: offset ${offset}, ${place - before} after the one before`
        if (place > before && firmBetween(story, before + 1, place) === 0) continue
        if (place > before) report(inside ? 'int-poll-skip' : 'poll-skip', detail)
        else report(inside ? 'int-nonmonotonic-poll' : 'nonmonotonic-poll', detail)
      }
      if (previous !== null && op.type === 'ok') last.set(key, previous)
    }
  }
}

function checkSendOrder(done: readonly Done[], stories: ReadonlyMap<Key, KeyStory>, report: Report): void {
  const lastSent = new Map<string, number>()
  for (const op of done) {
    if (op.type === 'fail') continue
    const insideKeys = new Set<Key>()
    for (const [key, offset, value] of sendsOf(op)) {
      const story = stories.get(key)!
      const place = offset === null ? story.firstPlace.get(value) : story.placeOf.get(offset)
      if (place === undefined) continue
      const name = `${op.process} ${key}`
      const before = lastSent.get(name)
      if (before !== undefined && place <= before) {
        const kind = insideKeys.has(key) ? 'int-nonmonotonic-send' : 'nonmonotonic-send'
        report(kind, `${key} value ${value} at offset ${story.offsets[place]}, after ${story.offsets[before]}`)
      }
      insideKeys.add(key)
      lastSent.set(name, place)
    }
  }
}

/** An observation of a number that must not decrease in real time. */
interface Mark {
  readonly begunAt: number
  readonly endedAt: number
  readonly height: number
}

/** Calls `fell` for each mark below (with `strictly`, below or equal to) a mark that had ended before it began. */
function sweep<M extends Mark>(marks: readonly M[], strictly: boolean, fell: (mark: M, highest: number) => void): void {
  const byEnd = [...marks].sort((a, b) => a.endedAt - b.endedAt)
  const byBeginning = [...marks].sort((a, b) => a.begunAt - b.begunAt)
  let ended = 0
  let highest = -Infinity
  for (const mark of byBeginning) {
    while (ended < byEnd.length && byEnd[ended]!.endedAt < mark.begunAt) {
      highest = Math.max(highest, byEnd[ended++]!.height)
    }
    if (mark.height < highest || (strictly && mark.height === highest)) fell(mark, highest)
  }
}

function checkRealTime(done: readonly Done[], report: Report): void {
  const byKey = new Map<Key, (Mark & { value: number })[]>()
  for (const op of done) {
    if (op.type !== 'ok') continue
    for (const [key, offset, value] of sendsOf(op)) {
      if (offset === null) continue
      const marks = byKey.get(key) ?? []
      byKey.set(key, marks)
      marks.push({ begunAt: op.begunAt, endedAt: op.endedAt, height: offset, value })
    }
  }
  for (const [key, marks] of byKey) {
    sweep(marks, true, (mark, highest) =>
      report('realtime-order', `${key} value ${mark.value} got ${mark.height} after ${highest} had been acknowledged`),
    )
  }
}

/**
 * Finds cycles (Tarjan): an edge goes from the writer of a value to its reader, and a component of two or more
 * operations is a cycle.
 */
function checkCycles(done: readonly Done[], stories: ReadonlyMap<Key, KeyStory>, report: Report): void {
  const readers = new Map<Done, Set<Done>>()
  for (const op of done) {
    // A plain poll writes nothing and a plain send reads nothing, so only transactions can form a cycle.
    if (op.f !== 'txn') continue
    for (const [key, seen] of pollsOf(op)) {
      for (const [, value] of seen) {
        const writer = stories.get(key)!.writers.get(value)
        if (writer === undefined || writer === op || writer.f !== 'txn') continue
        const those = readers.get(writer) ?? new Set()
        readers.set(writer, those.add(op))
      }
    }
  }
  const number = new Map<Done, number>()
  const low = new Map<Done, number>()
  const stack: Done[] = []
  const onStack = new Set<Done>()
  const enter = (op: Done) => {
    number.set(op, number.size)
    low.set(op, number.get(op)!)
    stack.push(op)
    onStack.add(op)
    return { op, rest: (readers.get(op) ?? new Set<Done>()).values() }
  }
  for (const root of readers.keys()) {
    if (number.has(root)) continue
    const path = [enter(root)]
    while (path.length > 0) {
      const { op, rest } = path.at(-1)!
      const next = rest.next()
      if (!next.done) {
        if (!number.has(next.value)) path.push(enter(next.value))
        else if (onStack.has(next.value)) low.set(op, Math.min(low.get(op)!, number.get(next.value)!))
        continue
      }
      path.pop()
      const parent = path.at(-1)
      if (parent !== undefined) low.set(parent.op, Math.min(low.get(parent.op)!, low.get(op)!))
      if (low.get(op) !== number.get(op)) continue
      const component = stack.splice(stack.lastIndexOf(op))
      for (const member of component) onStack.delete(member)
      if (component.length > 1) {
        report('write-read-cycle', `operations ${component.map(member => member.index).join(', ')}`)
      }
    }
  }
}

/** A commit, which writes an offset, or a read of it, for one group and key. */
interface OffsetEvent extends Mark {
  readonly op: Done
  readonly written: boolean
}

function checkCommits(done: readonly Done[], report: Report): void {
  const events = new Map<string, OffsetEvent[]>()
  const newestGeneration = new Map<string, (Mark & { op: Done })[]>()
  for (const op of done) {
    if (op.group === undefined) continue
    if (op.generation !== undefined && op.type === 'ok') {
      const marks = newestGeneration.get(op.group) ?? []
      newestGeneration.set(op.group, marks)
      marks.push({ begunAt: op.begunAt, endedAt: op.endedAt, height: op.generation, op })
    }
    for (const micro of op.value) {
      if ((micro[0] !== 'commit' && micro[0] !== 'committed') || micro[1] === undefined) continue
      for (const [key, offset] of Object.entries(micro[1])) {
        const name = `group ${op.group}, ${key}`
        const those = events.get(name) ?? []
        events.set(name, those)
        // -1 means that the read found no committed offset.
        const height = offset ?? -1
        those.push({ op, written: micro[0] === 'commit', begunAt: op.begunAt, endedAt: op.endedAt, height })
      }
    }
  }
  for (const [group, marks] of newestGeneration) {
    sweep(marks, false, (mark, highest) => {
      if (mark.op.f !== 'commit') return
      report('zombie-commit', `group ${group} operation ${mark.op.index}: ${mark.height}, though ${highest} had begun`)
    })
  }
  for (const [name, those] of events) {
    const certain = those.filter(event => event.op.type === 'ok')
    for (const [generation, marks] of Map.groupBy(certain, event => event.op.generation)) {
      if (generation === undefined) continue
      sweep(marks, false, (mark, highest) =>
        report(
          'committed-backwards',
          `${name}, generation ${generation}, operation ${mark.op.index}: ${mark.height} after ${highest}`,
        ),
      )
    }
    checkOffsetReadings(name, those, report)
  }
}

/**
 * A read must return an offset that some commit wrote and that no other commit had certainly replaced before the read
 * began.
 */
function checkOffsetReadings(name: string, events: readonly OffsetEvent[], report: Report): void {
  const written = events.filter(event => event.written && event.op.type !== 'fail')
  const acknowledged = written.filter(event => event.op.type === 'ok').sort((a, b) => a.endedAt - b.endedAt)
  const byOffset = Map.groupBy(written, event => event.height)
  // For the first n acknowledged commits by end: the latest begin. Every commit that ended before it was replaced.
  const latestBeginning: number[] = []
  for (const event of acknowledged) latestBeginning.push(Math.max(latestBeginning.at(-1) ?? -Infinity, event.begunAt))
  for (const reading of events) {
    if (reading.written || reading.op.type !== 'ok') continue
    const detail = `${name}, operation ${reading.op.index}: read ${reading.height}`
    const sources = (byOffset.get(reading.height) ?? []).filter(event => event.begunAt <= reading.endedAt)
    const endedBefore = countBelow(acknowledged, reading.begunAt)
    if (reading.height === -1) {
      if (endedBefore > 0) report('committed-stale', `${detail} (none) after ${acknowledged[endedBefore - 1]!.height}`)
      continue
    }
    if (sources.length === 0) {
      report('committed-phantom', detail)
      continue
    }
    const replacedUntil = endedBefore === 0 ? -Infinity : latestBeginning[endedBefore - 1]!
    // An unknown commit may take effect at any time after its begin, so nothing proves that it was replaced.
    if (sources.every(event => event.op.type === 'ok' && event.endedAt < replacedUntil)) {
      report('committed-stale', `${detail} after ${acknowledged[endedBefore - 1]!.height} had been acknowledged`)
    }
  }
}

/** Returns how many events of `sorted` (by end) ended before `time`. */
function countBelow(sorted: readonly OffsetEvent[], time: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sorted[middle]!.endedAt < time) low = middle + 1
    else high = middle
  }
  return low
}

// One batch on its way to the verdict. A look goes over the records once; most batches need no more:
//
//   look --all is known--> verdict
//     '--a subject, an id, a program is not known--> it collects what else is missing; the verdict looks that up,
//        and asks for another look, which goes on at the first record that was not judged
//     '--a piece of JSON payloads--> the verdict has it judged in threads, and asks for another look for the next piece
//
// The records of a batch are judged until it is known that it is refused, and 100 of them can be named.

import { type Clock, within } from '../../base/clock.ts'
import { type Patience, patience } from '../../base/patience.ts'
import { ThreadEnded } from '../../base/threads.ts'
import { because, KAFKA_STORAGE_ERROR, type Refusal } from '../../protocol/errors.ts'
import type { RecordWalk } from '../../protocol/records.ts'
import { type Part, SCHEMA_ID_HEADERS } from '../payload/framing.ts'
import { BatchMemory, Miss } from './batch-memory.ts'
import { type BadRecord, type BrokenRule, broken, MOST_NAMED, refusalOf } from './broken-rule.ts'
import { JsonPayloads } from './json-payloads.ts'
import type { JsonFault, JsonRoom, Pieces, RoomForJson } from './json-room.ts'
import { JudgedPart } from './judged-part.ts'
import { type Knowledge, RefusedForNow } from './knowledge.ts'
import type { TopicRules } from './rules.ts'
import { AGAIN, type BatchJudge, type Look, type Verdict } from './shapes.ts'
import { Ways } from './ways.ts'

/** Bad records that are kept: those of JSON payloads come late, and may stand before the others. */
const MOST_KEPT = 1_000
/** Questions that are looked up between two looks. */
const MOST_MISSES = 32
/** How long a batch waits for the store and for threads, also if its caller would wait longer. */
const LONGEST_MS = 20_000
/** Bytes that are walked between two looks at the clock: about 20 µs. */
const BYTES_BETWEEN = 16 * 1024

export interface BatchRooms {
  readonly knowledge: Knowledge
  readonly json: JsonRoom
  readonly clock: Clock
}

/** The steps of a record. */
const NEXT = 0
const HEADERS = 1
const WAYS = 2
const KEY = 3
const VALUE = 4
const WALKING = 5

export class JudgedBatch implements BatchJudge {
  readonly #rooms: BatchRooms
  readonly #rules: TopicRules
  readonly #memory: BatchMemory
  readonly #payloads = new JsonPayloads()
  readonly #key: JudgedPart | null
  readonly #value: JudgedPart | null
  readonly #records: number
  /** The parts that have a subject; null while a look at them has not begun. */
  #hasKey = false
  #hasValue = false
  #misses = new Set<Miss>()
  /** For the JSON payloads of a look. */
  #room: RoomForJson | null = null
  #pieces: Pieces | null = null
  /** The bad records that can be named. */
  readonly #bad: BadRecord[] = []
  /** One bit for each record that is bad: a record that was judged before is not noted again. */
  #badBits: Uint8Array | null = null
  #badCount = 0
  readonly #counts = new Map<string, number>()
  /** The record of the look. */
  #index = -1
  /** Where the look began to judge, and where the next one has to. */
  #beganAt = 0
  #resumeAt = 0
  #step = NEXT
  #walked: JudgedPart | null = null
  #nextStep = NEXT
  #keyFrom = -1
  #keyTo = 0
  #valueFrom = -1
  #valueTo = 0
  #keyHeader: Uint8Array | null = null
  #valueHeader: Uint8Array | null = null
  #isCollecting = false
  #isDone = false
  #bytes = 0

  constructor(
    rooms: BatchRooms,
    rules: TopicRules,
    parts: { readonly key: boolean; readonly value: boolean },
    records: number,
  ) {
    this.#rooms = rooms
    this.#rules = rules
    this.#records = records
    this.#memory = new BatchMemory(rooms.knowledge)
    const partOf = (rule: TopicRules['key']) =>
      rule && new JudgedPart(new Ways(rule, this.#memory, rules.isCounting), this.#payloads)
    this.#key = parts.key ? partOf(rules.key) : null
    this.#value = parts.value ? partOf(rules.value) : null
  }

  look(look: Look): Promise<void> | undefined {
    if (!this.#begin()) return undefined
    const others = this.#go(look)
    if (others !== undefined) return this.#goAfter(others, look)
    this.#finish(look.walk)
    return undefined
  }

  verdict(limit: Patience): Verdict | Promise<Verdict> {
    if (this.#pieces !== null || this.#misses.size > 0) return this.#wait(limit)
    return this.#isDone ? this.#report() : AGAIN
  }

  end(): void {
    this.#key?.end()
    this.#value?.end()
    this.#pieces?.leave()
    this.#room?.leave()
  }

  /** Looks up and judges in threads, then tells how it goes on. */
  async #wait({ untilMs, ended }: Patience): Promise<Verdict> {
    const { clock } = this.#rooms
    const nowMs = clock.monotonic()
    const withinMs = Math.max(0, Math.min(LONGEST_MS, untilMs - nowMs))
    const misses = [...this.#misses].map(({ load }) => load())
    const faults = this.#pieces?.judge(patience(clock, nowMs + withinMs, ended)) ?? []
    this.#misses.clear()
    this.#pieces = null
    this.#room = null
    try {
      const found = await within(clock, withinMs, Promise.all([faults, ...misses]), () => null)
      // No faults is not the same as none yet: a batch that was judged in part must not pass.
      if (found === null || found[0] === null)
        return this.#notNow('The schemas of the records could not be looked up or applied in time.')
      for (const { group, index, fault } of found[0]) this.#noteJson(group.part, index, fault, group.named)
    } catch (error) {
      if (error instanceof RefusedForNow) return this.#notNow(error.message)
      if (error instanceof ThreadEnded) return this.#notNow('The broker is stopping.')
      throw error
    }
    return this.#isDone || this.#isEnough ? this.#report() : AGAIN
  }

  #notNow(why: string): Refusal | null {
    if (this.#rules.isCounting) {
      this.#rules.count('not-checked', this.#records)
      return null
    }
    return because(KAFKA_STORAGE_ERROR, `${why} The batch was not appended, and may be sent again.`)
  }

  #report(): Refusal | null {
    const judged = this.#hasKey || this.#hasValue ? this.#index + 1 : 0
    for (const [reason, records] of this.#counts) this.#rules.count(reason, records)
    if (judged > this.#badCount) this.#rules.count('valid', judged - this.#badCount)
    if (this.#badCount === 0 || this.#rules.isCounting) return null
    // The faults of JSON payloads come after the others.
    this.#bad.sort((one, other) => one.index - other.index)
    const refusal = refusalOf(this.#bad, this.#badCount, this.#records, judged === this.#records)
    const { clock } = this.#rooms
    // A verdict that waited would hold back the batches of other producers behind this one.
    const holdMs = this.#rules.refuse(clock.monotonic())
    return holdMs === 0 ? refusal : Object.freeze({ ...refusal, holdMs })
  }

  /** Prepares a look. Returns false if it must not go over the records. */
  #begin(): boolean {
    const key = this.#key?.begin() ?? false
    const value = this.#value?.begin() ?? false
    for (const each of [key, value]) if (each instanceof Miss) this.#misses.add(each)
    if (this.#misses.size > 0) return false
    this.#hasKey = key === true
    this.#hasValue = value === true
    this.#isDone = !this.#hasKey && !this.#hasValue
    this.#index = -1
    this.#beganAt = this.#resumeAt
    this.#step = NEXT
    this.#isCollecting = false
    return !this.#isDone
  }

  async #goAfter(first: Promise<void>, look: Look): Promise<void> {
    for (let others: Promise<void> | undefined = first; others !== undefined; others = this.#go(look)) await others
    this.#finish(look.walk)
  }

  /** Goes on to the end of the records, or returns the turn of others that must pass before it can. */
  #go({ walk, step, turn }: Look): Promise<void> | undefined {
    for (;;) {
      switch (this.#step) {
        case NEXT: {
          if (this.#isEnough || this.#misses.size >= MOST_MISSES || !walk.next()) {
            this.#isDone = !this.#isCollecting
            return undefined
          }
          const others = step()
          if (++this.#index >= this.#resumeAt) this.#enter(walk)
          if (others !== undefined) return others
          break
        }
        case HEADERS: {
          if (walk.nextHeader()) {
            this.#readHeader(walk)
            const others = step()
            if (others !== undefined) return others
          } else this.#step = WAYS
          break
        }
        case WAYS: {
          this.#findWays(walk)
          break
        }
        case KEY: {
          this.#step = VALUE
          if (this.#hasKey && !this.#judge(this.#key!)) return undefined
          break
        }
        case VALUE: {
          this.#step = NEXT
          if (this.#hasValue && !this.#judge(this.#value!)) return undefined
          if (this.#bytes >= BYTES_BETWEEN) {
            this.#bytes = 0
            const others = turn()
            if (others !== undefined) return others
          }
          break
        }
        default: {
          const others = turn()
          if (others !== undefined) return others
          this.#judged(this.#walked!, this.#walked!.go())
        }
      }
    }
  }

  /** True if the batch is certainly refused, and enough records can be named. */
  get #isEnough(): boolean {
    return this.#badCount >= MOST_NAMED && !this.#rules.isCounting
  }

  #enter(walk: RecordWalk): void {
    const hasKey = walk.hasKey()
    this.#keyFrom = hasKey ? walk.keyFrom : -1
    this.#keyTo = walk.keyEnd
    const hasValue = walk.hasValue()
    this.#valueFrom = hasValue ? walk.valueFrom : -1
    this.#valueTo = walk.valueEnd
    this.#keyHeader = null
    this.#valueHeader = null
    this.#bytes += walk.end - walk.from
    this.#step = HEADERS
  }

  /** The last header of a name that is not null counts. A null one hides those before it. */
  #readHeader({ payload, headerKeyFrom, headerKeyEnd, headerFrom, headerEnd }: RecordWalk): void {
    const value = () => (headerFrom < 0 ? null : payload.subarray(headerFrom, headerEnd))
    if (isAt(payload, headerKeyFrom, headerKeyEnd, HEADERS_OF.value)) this.#valueHeader = value()
    else if (isAt(payload, headerKeyFrom, headerKeyEnd, HEADERS_OF.key)) this.#keyHeader = value()
  }

  #findWays({ payload }: RecordWalk): void {
    let isKnown = true
    for (const isKey of [true, false]) {
      if (!(isKey ? this.#hasKey : this.#hasValue)) continue
      const miss = isKey
        ? this.#key!.frame(payload, this.#keyFrom, this.#keyTo, this.#keyHeader)
        : this.#value!.frame(payload, this.#valueFrom, this.#valueTo, this.#valueHeader)
      if (miss === null) continue
      this.#misses.add(miss)
      isKnown = false
    }
    if (!isKnown && !this.#isCollecting) {
      this.#isCollecting = true
      this.#resumeAt = this.#index
    }
    this.#step = this.#isCollecting ? NEXT : KEY
  }

  /** Returns false if the look has to end here, because a piece of JSON is full. */
  #judge(part: JudgedPart): boolean {
    const result = part.judge(this.#index)
    if (result === 'full') {
      this.#resumeAt = this.#index
      // The key of the record may be in the piece already. Then it is judged twice.
      this.#isCollecting = true
      return false
    }
    this.#walked = part
    this.#nextStep = this.#step
    this.#judged(part, result)
    return true
  }

  #judged(part: JudgedPart, result: BrokenRule | 'more' | null): void {
    this.#step = result === 'more' ? WALKING : this.#nextStep
    if (result !== null && result !== 'more') this.#note(part.part, this.#index, result)
  }

  #noteJson(part: Part, index: number, { reason, message }: JsonFault['fault'], named: string): void {
    this.#note(part, index, broken(reason, `${message} (${named})`))
  }

  #note(part: Part, index: number, { reason, why }: BrokenRule): void {
    this.#badBits ??= new Uint8Array((this.#records + 7) >> 3)
    const bit = 1 << (index & 7)
    if ((this.#badBits[index >> 3]! & bit) !== 0) return
    this.#badBits[index >> 3]! |= bit
    this.#badCount++
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1)
    const rule = this.#rules[part]
    if (rule !== null) rule.tally.refused++
    if (!this.#rules.isCounting && this.#bad.length < MOST_KEPT) this.#bad.push({ index, part, reason, why })
  }

  /** Ends a look: copies the JSON payloads, or asks for the room that they need, and then for another look. */
  #finish({ payload }: RecordWalk): void {
    const { bytes } = this.#payloads
    if (bytes > 0 && !this.#isEnough) {
      if (this.#room !== null && this.#room.bytes < bytes) {
        this.#room.leave()
        this.#room = null
      }
      this.#room ??= this.#rooms.json.enter(bytes, LONGEST_MS)
      if (this.#room.isInside) this.#pieces = this.#rooms.json.copy(this.#payloads, payload, this.#room)
      else this.#waitForRoom(this.#room)
    }
    this.#payloads.clear()
  }

  #waitForRoom(room: RoomForJson): void {
    this.#isDone = false
    this.#resumeAt = this.#beganAt
    this.#misses.add(
      new Miss(async () => {
        if (!(await room.entered))
          throw new RefusedForNow('Other batches of JSON records take all the room for checks.')
        this.#room = room
      }),
    )
  }
}

const HEADERS_OF: Readonly<Record<Part, Buffer>> = {
  key: Buffer.from(SCHEMA_ID_HEADERS.key),
  value: Buffer.from(SCHEMA_ID_HEADERS.value),
}

function isAt(bytes: Uint8Array, from: number, end: number, name: Buffer): boolean {
  if (end - from !== name.length) return false
  for (let i = 0; i < name.length; i++) if (bytes[from + i] !== name[i]) return false
  return true
}

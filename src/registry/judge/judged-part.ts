// The keys or the values of one batch: finds the way of each, walks it, and collects what threads judge.

import type { Walker } from '../format.ts'
import { Framing, type Part, UNFRAMED } from '../payload/framing.ts'
import { MessageIndexes, readIndexes } from '../payload/message-indexes.ts'
import { Miss } from './batch-memory.ts'
import { type BrokenRule, broken } from './broken-rule.ts'
import type { JsonPayloads } from './json-payloads.ts'
import type { JudgedSchema } from './judged-schema.ts'
import type { SchemaKey } from './knowledge.ts'
import type { Way, Ways } from './ways.ts'

/** The work of one run of a walker, in values: well under the turn of 1 ms that all judgings share. */
const STEPS = 4_096

const NO_MESSAGE = -1

export class JudgedPart {
  readonly part: Part
  readonly #ways: Ways
  readonly #json: JsonPayloads
  readonly #framing = new Framing()
  /** Made for the first Protobuf message. */
  #indexes: MessageIndexes | null = null
  /** The way of all records, or of those that name the same schema as the last one. */
  #always: Way | null = null
  #lastKey: SchemaKey = 0
  #last: Way | null = null
  #way: Way | null = null
  #message = 0
  /** Where the body begins. */
  #from = 0
  #walker: Walker | null = null
  #walkedSchema: JudgedSchema | null = null
  #walkedMessage = 0

  constructor(ways: Ways, json: JsonPayloads) {
    this.part = ways.rule.part
    this.#ways = ways
    this.#json = json
  }

  /** Called before each look. Returns false if nothing of the part is judged, as all records have no subject. */
  begin(): boolean | Miss {
    const way = this.#ways.ofAll()
    if (way instanceof Miss) return way
    this.#always = way
    return way?.kind !== 'pass'
  }

  /**
   * Reads which schema a key or value names. `from` is -1 for null; `header` is the last header that names a schema,
   * null without one. Returns a Miss if it is not known yet how it is judged.
   */
  frame(payload: Uint8Array, from: number, to: number, header: Uint8Array | null): Miss | null {
    this.#way = null
    if (from < 0) return null
    if (this.#always !== null) {
      this.#way = this.#always
      return null
    }
    const framing =
      header === null ? this.#framing.readBare(payload, from, to) : this.#framing.readHeaded(payload, from, to, header)
    if (framing.kind === 'unframed') {
      this.#way = this.#ways.unframed(UNFRAMED[framing.why])
      return null
    }
    return this.#find(framing.kind === 'id' ? framing.id : framing.guid())
  }

  /** Begins to judge. Returns the rule that is broken, null if none is, or `more`: then go() must be called. */
  judge(index: number): BrokenRule | 'more' | 'full' | null {
    const way = this.#way
    if (way === null || way.kind === 'pass') return null
    if (way.kind === 'broken') return way.rule
    if (way.kind === 'by-message') return null
    const { schema } = way
    const { bytes, to } = this.#framing
    if (schema.json !== null) {
      const programs = way.latest?.json ? [schema.json, way.latest.json] : [schema.json]
      return this.#json.add(programs, way.named, this.part, index, this.#framing.from, to)
    }
    if (this.#message === NO_MESSAGE) return broken('no-message', `${way.named} has no message at its message indexes`)
    this.#take(schema, this.#message)
    this.#walker!.begin(bytes, this.#from, to)
    return this.go()
  }

  /** Goes on with the body. */
  go(): BrokenRule | 'more' | null {
    const fault = this.#walker!.run(STEPS)
    if (fault === null || fault === 'more') return fault
    return broken(fault.reason, `${fault.message} (${(this.#way as Way & { readonly kind: 'judged' }).named})`)
  }

  /** Gives back what belongs to all batches. */
  end(): void {
    if (this.#walker !== null) this.#walkedSchema!.give(this.#walker, this.#walkedMessage)
    this.#walker = null
    this.#walkedSchema = null
  }

  #find(key: SchemaKey): Miss | null {
    if (this.#last === null || this.#lastKey !== key) {
      const way = this.#ways.of(key)
      if (way instanceof Miss) return way
      this.#last = way
      this.#lastKey = key
    }
    this.#way = this.#last
    if (this.#last.kind !== 'by-message' && (this.#last.kind !== 'judged' || this.#last.schema.json !== null))
      return null
    this.#readMessage(this.#last.schema)
    if (this.#last.kind !== 'by-message') return null
    if (this.#message === NO_MESSAGE) {
      this.#way = {
        kind: 'broken',
        rule: broken('no-message', `its schema ${key} has no message at its message indexes`),
      }
      return null
    }
    const way = this.#ways.ofMessage(this.#last, key, this.#message)
    if (way instanceof Miss) return way
    this.#way = way
    return null
  }

  /** Finds out which message the body is, and where it begins. */
  #readMessage(schema: JudgedSchema): void {
    const { from, by, indexBytes, indexFrom, indexTo } = this.#framing
    this.#from = from
    this.#message = 0
    if (schema.type !== 'PROTOBUF') return
    this.#indexes ??= new MessageIndexes()
    const indexes = this.#indexes
    const isThere = () => {
      this.#message = schema.messageAt(indexes)
      return this.#message >= 0
    }
    const top = schema.topLevelMessages
    const read = readIndexes(indexes, indexBytes, indexFrom, indexTo, top, isThere)
    if (read === 'wrong') this.#message = NO_MESSAGE
    else if (read === 'missing') this.#message = schema.messageAt(indexes)
    else if (by === 'prefix') this.#from = indexes.end
  }

  #take(schema: JudgedSchema, message: number): void {
    if (this.#walkedSchema === schema && this.#walkedMessage === message) return
    this.end()
    this.#walker = schema.take(message)
    this.#walkedSchema = schema
    this.#walkedMessage = message
  }
}

// Keys and values of records as text: the way from bytes that name a schema to JSON, and back.

import type { Clock } from '../../base/clock.ts'
import { JsonValidators } from '../json/json-validators.ts'
import type { VerbRooms } from '../verbs/rooms.ts'
import { BodyWork } from './body-work.ts'
import { type DecodedPart, decodePart, type PartToDecode } from './decode-part.ts'
import { type Encoder, encoderOf, type PartRefusal, type SchemaName } from './encode-part.ts'
import { KnownSchemas } from './known-schemas.ts'
import { VersionsOfRecords } from './versions-of-records.ts'

/** Few callers produce JSON by hand. */
const MOST_VALIDATORS = 2

export class RecordParts {
  readonly #rooms: VerbRooms
  readonly #clock: Clock
  readonly #schemas: KnownSchemas
  readonly #versions: VersionsOfRecords
  readonly #bodies: BodyWork
  #validators: JsonValidators | null = null

  constructor(rooms: VerbRooms, clock: Clock) {
    this.#rooms = rooms
    this.#clock = clock
    this.#schemas = new KnownSchemas(rooms)
    this.#versions = new VersionsOfRecords(rooms.state)
    this.#bodies = new BodyWork(clock)
  }

  /** Resolves with one key or value as text, or with the reason why it has none. Throws what the store throws. */
  async decodePart(request: PartToDecode): Promise<DecodedPart> {
    const { state } = this.#rooms
    return await decodePart({ state, schemas: this.#schemas, versions: this.#versions, work: this.#bodies }, request)
  }

  /** Resolves with what makes keys or values of a schema, or with the refusal. Throws what the store throws. */
  async encoderOf(name: SchemaName): Promise<Encoder | PartRefusal> {
    const validators = () => {
      this.#validators ??= new JsonValidators({ clock: this.#clock, most: MOST_VALIDATORS })
      return this.#validators
    }
    return await encoderOf({ ...this.#rooms, schemas: this.#schemas, bodies: this.#bodies, validators }, name)
  }

  /** Resolves with the bytes of one key or value, or with the refusal. Throws what the store throws. */
  async encodePart({ schema, text }: PartToEncode): Promise<Buffer | PartRefusal> {
    const encoder = await this.encoderOf(schema)
    return encoder.kind === 'refused' ? encoder : await encoder.encode(text)
  }

  async close(): Promise<void> {
    await Promise.all([this.#bodies.close(), this.#validators?.close()])
  }
}

export interface PartToEncode {
  readonly schema: SchemaName
  readonly text: string
}

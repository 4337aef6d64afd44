// The records that the client libraries write and read, and their schema in each format.

import { readFileSync } from 'node:fs'

export const FORMATS = ['AVRO', 'JSON', 'PROTOBUF'] as const
export type Format = (typeof FORMATS)[number]

/** A record as every library shows it. The id is written as digits, because JavaScript has no 64 bits. */
export interface Order {
  readonly id: string
  readonly customer: string
  readonly total: number
  readonly tags: readonly string[]
  readonly lines: readonly { readonly sku: string; readonly count: number }[]
  readonly note: string | null
  readonly status: 'PLACED' | 'SENT'
}

export interface OrderSchema {
  readonly format: Format
  /** The text that is registered. */
  readonly text: string
  /** The FileDescriptorProto as JSON, for the libraries that take Protobuf from compiled code. */
  readonly descriptor: string
}

const read = (name: string) => readFileSync(new URL(`order/${name}`, import.meta.url), 'utf8')

const descriptor = read('order.descriptor.json')
const texts: Readonly<Record<Format, string>> = {
  AVRO: read('order.avsc'),
  JSON: read('order.schema.json'),
  PROTOBUF: read('order.proto'),
}

export const schemaOf = (format: Format): OrderSchema => ({ format, text: texts[format], descriptor })

/** The same schema with a change that no earlier record survives: the id is a text. */
export function incompatible(format: Format): OrderSchema {
  const changes: Readonly<Record<Format, readonly [from: string, to: string]>> = {
    AVRO: ['"name": "id", "type": "long"', '"name": "id", "type": "string"'],
    JSON: ['"id": { "type": "integer" }', '"id": { "type": "string" }'],
    PROTOBUF: ['int64 id', 'string id'],
  }
  return { ...schemaOf(format), text: texts[format].replace(...changes[format]) }
}

/** Records with every member empty, with none empty, with text that is not ASCII, and a tombstone at the end. */
export const ORDERS: readonly (Order | null)[] = [
  { id: '0', customer: 'ada', total: 0, tags: [], lines: [], note: null, status: 'PLACED' },
  {
    // avsc, on which both libraries for Node depend, refuses whole numbers of more than 53 bits.
    id: '1099511627776',
    customer: 'Größe 日本語',
    total: 12.5,
    tags: ['new', '', 'ü'],
    lines: [
      { sku: 'a-1', count: 2 },
      { sku: 'b-2', count: -3 },
    ],
    note: 'by the door',
    status: 'SENT',
  },
  { id: '-4294967297', customer: 'x', total: -1e300, tags: ['t'], lines: [], note: '', status: 'SENT' },
  null,
]

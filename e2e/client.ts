// The interface that the matrix requires of a Kafka client, the records that the clients send, and how the records that
// arrived are compared with those that were sent. Each client has a folder of its own.

import assert from 'node:assert/strict'
import { seededRandom } from '../src/base/random.ts'
import type { ClientSecurity, Mechanism } from './security/security.ts'

export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Codec = (typeof CODECS)[number]

export interface Header {
  readonly name: string
  readonly value: Buffer | null
}

export interface Sent {
  /** The record's position in the order of sending. It also identifies the record. */
  readonly id: number
  /** null: the client chooses, by its own hash. */
  readonly partition: number | null
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly Header[]
  /** null: the client cannot set a timestamp and uses the time of sending. */
  readonly timestamp: number | null
  readonly codec: Codec
}

export interface Received {
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly Header[]
}

export interface Client {
  readonly name: string
  /** The source of the client on this machine: Debian, npm, Maven Central. */
  readonly from: string
  /** The version of the client. Called only if the client is not absent. */
  version(): string
  /** Why this machine cannot run the client, and how to enable it; null if it can run. */
  absence(): string | null
  /** The codecs it can write, and read. */
  readonly codecs: readonly Codec[]
  /** The parts of a record that it cannot express, in words; null when it sends everything as it is. */
  readonly cannotSend: string | null
  /** The SASL mechanisms that it does not have here, each with the reason. */
  readonly lacks: Readonly<Partial<Record<Mechanism, string>>>
  /** Matches the error of produce() if the broker refuses the login. */
  readonly refused: RegExp
  /**
   * Sends the records with acks=all, in order within each partition, and waits until all are acknowledged. Resolves to
   * the records as the client sent them: a client may be unable to send a timestamp or an empty value. The connection
   * has no security by default, here and in consume().
   */
  produce(address: string, topic: string, records: readonly Sent[], security?: ClientSecurity): Promise<readonly Sent[]>
  /** The record without the parts that the client cannot show when it reads; absent if it shows every part. */
  asRead?(record: Sent): Sent
  /** Joins the group, reads from the beginning until it has `count` records, commits, leaves. */
  consume(
    address: string,
    topic: string,
    group: string,
    count: number,
    security?: ClientSecurity,
  ): Promise<readonly Received[]>
}

export const FIRST_TIMESTAMP = 1_600_000_000_000

/**
 * Records of every awkward kind: no key, no value, an empty value, one byte, up to 100 KB, not ASCII, bytes that are
 * no text (unless `textOnly`), headers, one of them without a value. Runs of records use one codec after the other.
 */
export function makeRecords(options: {
  count: number
  partitions: number
  codecs: readonly Codec[]
  seed: number
  textOnly?: boolean
}): Sent[] {
  const { count, partitions, codecs, textOnly = false } = options
  const random = seededRandom(options.seed)
  const noise = random.bytes(100_000)
  const text = Buffer.from('plain words, größere Wörter, 日本語 и кириллица; '.repeat(2500))
  return Array.from({ length: count }, (_, id) => {
    const key = id % 7 === 0 ? null : Buffer.from(`k${id}-schlüssel`)
    let value: Buffer | null
    if (key !== null && id % 11 === 0) value = null
    else if (key !== null && id % 13 === 0) value = Buffer.alloc(0)
    else if (key !== null && id % 17 === 0) value = Buffer.from('x')
    else {
      const size = id % 1000 === 999 ? 100_000 : id % 100 === 99 ? 10_000 : 1 + random.below(400)
      const filler = textOnly || id % 3 !== 0 ? wholeText(text, size) : noise.subarray(0, size)
      value = Buffer.concat([Buffer.from(`${id}:`), filler])
    }
    const headers: Header[] = id % 4 === 0 ? [{ name: 'trace', value: Buffer.from(`id-${id}`) }] : []
    if (id % 8 === 0) headers.push({ name: 'größe', value: Buffer.from('ü') })
    if (id % 16 === 0) headers.push({ name: 'nothing', value: null })
    return {
      id,
      partition: id % partitions,
      key,
      value,
      headers,
      timestamp: FIRST_TIMESTAMP + id * 10,
      codec: codecs[Math.floor((id * codecs.length) / count)]!,
    }
  })
}

/** The beginning of the text, at most this many bytes, that does not cut a character (RFC 3629, section 3). */
function wholeText(text: Buffer, bytes: number): Buffer {
  let end = Math.min(bytes, text.length)
  while (end < text.length && (text[end]! & 0xc0) === 0x80) end--
  return text.subarray(0, end)
}

/** The record without its headers that have no value, for clients that cannot send one. */
export function withoutNullHeaders(record: Sent): Sent {
  return { ...record, headers: record.headers.filter(header => header.value !== null) }
}

/** Splits the records, in order, into runs of the same codec, for clients that set the codec once per producer. */
export function runsByCodec(records: readonly Sent[]): readonly (readonly Sent[])[] {
  const runs: Sent[][] = []
  for (const record of records) {
    const run = runs.at(-1)
    if (run !== undefined && run[0]!.codec === record.codec) run.push(record)
    else runs.push([record])
  }
  return runs
}

function idOf(record: Pick<Received, 'key' | 'value'>): number {
  const text = record.key !== null && record.key.length > 0 ? record.key.toString() : (record.value ?? '').toString()
  const match = /^k?(\d+)[-:]/.exec(text)
  assert(match !== null, `a record arrived that was never sent: ${text.slice(0, 100)}`)
  return Number(match[1])
}

function describe(record: { key: Buffer | null; value: Buffer | null; headers: readonly Header[] }): unknown {
  const show = (bytes: Buffer | null) => bytes && (bytes.length > 200 ? `${bytes.length} bytes` : bytes.toString('hex'))
  return {
    key: record.key?.toString() ?? null,
    value: show(record.value),
    headers: record.headers.map(({ name, value }) => [name, show(value)]),
  }
}

/** Asserts that every record arrived once, whole, in its partition's order of sending, at offsets dense from 0. */
export function compareRecords(
  sent: readonly Sent[],
  received: readonly Received[],
  sentBetween: { from: number; to: number },
): void {
  assert.equal(received.length, sent.length, 'the number of records')
  const place = new Map(sent.map((record, index) => [record.id, index]))
  const next = new Map<number, { offset: number; place: number }>()
  for (const record of received) {
    const at = next.get(record.partition) ?? { offset: 0, place: -1 }
    const where = `partition ${record.partition} offset ${record.offset}`
    assert.equal(record.offset, at.offset, `offsets of partition ${record.partition} are dense and in order`)
    const id = idOf(record)
    const index = place.get(id)
    assert(index !== undefined, `${where}: record ${id} arrived twice or was never sent`)
    place.delete(id)
    assert(index > at.place, `${where}: record ${id} overtook the one before it`)
    next.set(record.partition, { offset: at.offset + 1, place: index })
    const original = sent[index]!
    if (original.partition !== null) assert.equal(record.partition, original.partition, `${where}: the partition`)
    const same =
      sameBytes(record.key, original.key) &&
      sameBytes(record.value, original.value) &&
      record.headers.length === original.headers.length &&
      record.headers.every((header, i) => {
        const other = original.headers[i]!
        return header.name === other.name && sameBytes(header.value, other.value)
      })
    if (!same) assert.deepEqual(describe(record), describe(original), `${where}: the bytes of record ${id} differ`)
    assert(same, `${where}: the bytes of record ${id} differ`)
    if (original.timestamp !== null) assert.equal(record.timestamp, original.timestamp, `${where}: the timestamp`)
    else {
      assert(
        record.timestamp >= sentBetween.from && record.timestamp <= sentBetween.to,
        `${where}: the timestamp ${record.timestamp} is not of the time of sending`,
      )
    }
  }
}

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b)
}

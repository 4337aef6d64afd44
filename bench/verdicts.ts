// Measures the cost of judging produced records: batches of 64 KiB with records of 1 KiB, `fsync: interval`, five in
// flight. Each format has two topics that get the same bytes in turns: one with a subject and one without. And a broker
// with the registry beside one without it, for topics that have no subject.
//
//   npm run bench -- verdicts --rounds 15 --seconds 3       the figures that are kept
//   npm run bench -- verdicts --rounds 3 --seconds 1        the short form

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from '../src/base/assert.ts'
import { encodeBatch } from '../src/protocol/records.ts'
import { encodeAvro } from '../src/registry/avro/encode.ts'
import type { AvroProgram } from '../src/registry/avro/program.ts'
import type { SchemaType } from '../src/registry/format.ts'
import { formatOf } from '../src/registry/formats.ts'
import { framed } from '../src/registry/payload/framing.ts'
import { encode as encodeProtobuf } from '../src/registry/protobuf/encode.ts'
import type { ProtobufProgram } from '../src/registry/protobuf/program.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { type Finding, type Harness, type Measured, median, type Question } from './harness.ts'
import { compareInTurns } from './in-turns.ts'

const PARTITIONS = 16
const RECORDS = 63
const KEPT = { 'retention.bytes': String(16 * 2 ** 20) }
const SETTINGS = {
  'svc.storage.worker.tick-interval': '1s',
  'svc.admin.security-enabled': 'false',
  'svc.storage.local.embedded.fsync': 'interval',
}
const LOAD = { partitions: PARTITIONS, connections: 1, 'in-flight': 5 }
/** Records in a second, each in a batch of its own. */
const PACED_RATE = 1_000
/** The unpacked bytes of a judged zstd batch in a second. */
const ZSTD_MB = 150

interface Row {
  readonly name: string
  readonly type: SchemaType
  readonly isPacked: boolean
  /** Of the rate without a subject. */
  readonly floor: number | null
  /** Of the p99 without a subject. */
  readonly ceiling: number | null
}

const ROWS: readonly Row[] = [
  { name: 'avro', type: 'AVRO', isPacked: false, floor: 0.75, ceiling: 1.5 },
  { name: 'protobuf', type: 'PROTOBUF', isPacked: false, floor: 0.65, ceiling: null },
  { name: 'json', type: 'JSON', isPacked: false, floor: 0.35, ceiling: 2 },
  { name: 'avro-zstd', type: 'AVRO', isPacked: true, floor: null, ceiling: null },
]

export const verdicts: Question = {
  name: 'verdicts',
  asks: 'produce to topics with a subject beside the same without one, and with the registry beside without it, 64 KiB batches of 1 KiB records, five in flight',
  async answer(harness) {
    const folder = mkdtempSync(join(tmpdir(), 'ketch-verdicts-'))
    harness.after(async () => rmSync(folder, { recursive: true }))
    const broker = await harness.broker(SETTINGS)
    const findings: Finding[] = []
    for (const row of ROWS) findings.push(...(await measure(harness, broker, folder, row)))
    await broker.kill('SIGKILL')
    return [...findings, ...(await besideNoRegistry(harness))]
  },
}

async function measure(harness: Harness, broker: BrokerProcess, folder: string, row: Row): Promise<Finding[]> {
  const { name, type, isPacked, floor, ceiling } = row
  for (const topic of [name, `${name}-free`]) await harness.topic(broker.port, topic, PARTITIONS, KEPT)
  const id = await registerSchema(broker, `${name}-value`, SCHEMAS[type], type)
  const body = bodyOf(type)
  const values = Array.from({ length: RECORDS }, () => ({ value: framed(id, body), timestamp: Date.now() }))
  const batch = encodeBatch(values, { compression: isPacked ? 'zstd' : 'none' })
  const unpacked = encodeBatch(values).length / batch.length
  const file = join(folder, name)
  writeFileSync(file, batch)
  const single = join(folder, `${name}-single`)
  writeFileSync(single, encodeBatch(values.slice(0, 1)))
  const load = (topic: string) =>
    harness.load('produce', broker, { ...LOAD, topic, batch: file, seconds: harness.seconds })
  const paced = (topic: string) =>
    harness.paced('produce', broker.port, {
      ...{ topic, partitions: PARTITIONS, rate: PACED_RATE, batch: single, seconds: harness.seconds },
    })
  const judged: Measured[] = []
  const free: Measured[] = []
  const judgedP99: number[] = []
  const freeP99: number[] = []
  for (let round = 0; round < harness.rounds; round++) {
    for (const isJudged of round % 2 === 0 ? [true, false] : [false, true]) {
      const topic = isJudged ? name : `${name}-free`
      ;(isJudged ? judged : free).push(await load(topic))
      if (ceiling !== null) (isJudged ? judgedP99 : freeP99).push((await paced(topic)).latencyMs.p99)
    }
    const [one, other] = [judged.at(-1)!, free.at(-1)!].map(each => each.megabytesPerSecond * unpacked)
    harness.say(`${name}: ${one!.toFixed(0)} MB/s judged beside ${other!.toFixed(0)} MB/s, unpacked`)
  }
  const rates = judged.map(each => each.megabytesPerSecond * unpacked)
  const base = free.map(each => each.megabytesPerSecond * unpacked)
  const rate: Finding = {
    ...{ what: `${name}, rate`, value: median(rates), unit: 'MB/s unpacked', samples: rates, baseSamples: base },
    ratio: median(rates.map((each, i) => each / base[i]!)),
    ratioOf: `the rate without a subject (${median(base).toFixed(0)} MB/s), median of the pairs`,
    ...(floor !== null && { floor }),
  }
  // A floor is compared with the ratio if there is one.
  const absolute: Finding[] = isPacked
    ? [{ what: `${name}, unpacked`, value: median(rates), unit: 'MB/s', floor: ZSTD_MB }]
    : []
  const cpu = (all: readonly Measured[]) => all.map(each => each.cpuMsPer100MB / 100 / unpacked)
  absolute.push({
    ...{ what: `${name}, processor time`, value: median(cpu(judged)), unit: 's/GB unpacked' },
    ratio: median(cpu(judged)) / median(cpu(free)),
    ratioOf: `that without a subject (${median(cpu(free)).toPrecision(3)} s/GB)`,
    ...{ samples: cpu(judged), baseSamples: cpu(free) },
  })
  if (ceiling === null) return [rate, ...absolute]
  const p99: Finding = {
    ...{ what: `${name}, p99 at ${PACED_RATE} records/s`, value: median(judgedP99), unit: 'ms', ceiling },
    ratio: median(judgedP99.map((each, i) => each / freeP99[i]!)),
    ratioOf: `the p99 without a subject (${median(freeP99).toPrecision(3)} ms), median of the pairs`,
    ...{ samples: judgedP99, baseSamples: freeP99 },
  }
  return [rate, ...absolute, p99]
}

/** A topic without a subject, on a broker with the registry beside one without. */
async function besideNoRegistry(harness: Harness): Promise<Finding[]> {
  const start = async (isOn: boolean) => {
    const broker = await harness.broker({ ...SETTINGS, 'svc.schema-registry.enabled': String(isOn) })
    await harness.topic(broker.port, 'bench', PARTITIONS, KEPT)
    await harness.load('produce', broker, { ...LOAD, seconds: 1 })
    return { port: broker.port, pid: broker.pid, end: async () => void (await broker.kill('SIGKILL')) }
  }
  const way = { name: 'no subject', mode: 'produce', partitions: PARTITIONS, connections: 1, inFlight: 5 } as const
  const ours = await start(true)
  const base = await start(false)
  return await compareInTurns(harness, way, { ours, base, baseName: 'a broker without the registry' })
}

/** Resolves with the id. */
export async function registerSchema(
  { url }: BrokerProcess,
  subject: string,
  schema: string,
  schemaType: SchemaType,
): Promise<number> {
  const response = await fetch(`${url}/schema-registry/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ schema, schemaType }),
  })
  const { id, message } = (await response.json()) as { id?: number; message?: string }
  assert(id !== undefined, `the schema is refused: ${message}`)
  return id
}

const TEXT = 'a text of about sixty bytes, as an address or a description has'
/** Fifteen fields, and with them about 1 KiB in each format. */
const FIELDS: readonly (readonly [name: string, kind: 'long' | 'double' | 'boolean' | 'string', value: unknown])[] = [
  ['orderId', 'long', 1_234_567_890],
  ['customerId', 'long', 987_654_321],
  ['placedAt', 'long', 1_700_000_000_000],
  ['total', 'double', 1234.5],
  ['isPaid', 'boolean', true],
  ...Array.from({ length: 10 }, (_, i) => [`text${i}`, 'string', `${TEXT} ${i} ${'x'.repeat(18)}`] as const),
]

const SCHEMAS: Readonly<Record<SchemaType, string>> = {
  AVRO: JSON.stringify({ type: 'record', name: 'Order', fields: FIELDS.map(([name, type]) => ({ name, type })) }),
  PROTOBUF: `syntax = "proto3"; message Order { ${FIELDS.map(
    ([name, kind], i) =>
      `${{ long: 'int64', double: 'double', boolean: 'bool', string: 'string' }[kind]} ${name} = ${i + 1};`,
  ).join(' ')} }`,
  JSON: JSON.stringify({
    type: 'object',
    properties: Object.fromEntries(
      FIELDS.map(([name, kind]) => [name, { type: { long: 'integer', double: 'number' }[kind as string] ?? kind }]),
    ),
    required: FIELDS.map(([name]) => name),
    additionalProperties: false,
  }),
}

function bodyOf(type: SchemaType): Uint8Array {
  const text = JSON.stringify(Object.fromEntries(FIELDS.map(([name, , value]) => [name, value])))
  if (type === 'JSON') return Buffer.from(text)
  const format = formatOf(type)
  const program = format.compile(format.parse({ text: SCHEMAS[type], dependencies: [] }, 'new'))
  const body =
    type === 'AVRO'
      ? encodeAvro(program as AvroProgram, text, 1 << 20)
      : encodeProtobuf(program as ProtobufProgram, 0, text, 1 << 20)
  assert(body instanceof Uint8Array, JSON.stringify(body))
  return type === 'PROTOBUF' ? Buffer.concat([Buffer.from([0]), body]) : body
}

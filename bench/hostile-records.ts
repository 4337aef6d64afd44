// Measures whether hostile records disturb a broker that judges them: another judged topic keeps its rate, the event
// loop is not blocked, memory does not grow. The short form takes `--rounds 1 --seconds 3`.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { produce } from '../src/protocol/messages/produce.ts'
import { encodeBatch, type NewRecord } from '../src/protocol/records.ts'
import { framed } from '../src/registry/payload/framing.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question } from './harness.ts'
import { COLLECTS_FLAG, keptMegabytes } from './kept-memory.ts'
import { LOOP_DELAY_FLAG, loopDelay } from './loop-delay.ts'
import { registerSchema } from './verdicts.ts'

const SETTINGS = {
  'svc.storage.worker.tick-interval': '1s',
  'svc.admin.security-enabled': 'false',
  'svc.storage.local.embedded.fsync': 'interval',
}
const PARTITIONS = 16
const KEPT = { 'retention.bytes': String(16 * 2 ** 20) }
/** Requests of the attacker in flight. */
const IN_FLIGHT = 20
/** The attack runs this long without other load, for the processor time that it takes. */
const ALONE_MS = 3_000
const BOMB_BYTES = 63 << 20
const TEXT = JSON.stringify({ type: 'record', name: 'Text', fields: [{ name: 'text', type: 'string' }] })

interface Attack {
  readonly name: string
  readonly schema: string
  readonly type: 'AVRO' | 'JSON'
  batches(id: number): readonly Buffer[]
}

const text = (length: number) => Buffer.concat([varint(length), Buffer.alloc(length, 0x61)])
const bomb = (codec: 'gzip' | 'snappy' | 'lz4' | 'zstd'): Attack => ({
  ...{ name: `${codec} bombs of 63 MiB`, schema: TEXT, type: 'AVRO' },
  batches: id => {
    // The last byte is one too many: it is refused when all of it was judged, and the log keeps nothing of it.
    const value = framed(id, text(BOMB_BYTES), Buffer.alloc(1))
    const batch = encodeBatch([{ value }], { compression: codec })
    return [batch]
  },
})

const ATTACKS: readonly Attack[] = [
  {
    ...{ name: '^(a+)+$', schema: JSON.stringify({ type: 'string', pattern: '^(a+)+$' }), type: 'JSON' },
    batches: id => [encodeBatch([{ value: framed(id, Buffer.from(JSON.stringify(`${'a'.repeat(40)}!`))) }])],
  },
  {
    ...{ name: '2^31 items without bytes', schema: JSON.stringify({ type: 'array', items: 'null' }), type: 'AVRO' },
    batches: id => {
      const record: NewRecord = { value: framed(id, Buffer.from('feffffff0f00', 'hex')) }
      return [encodeBatch(Array.from({ length: 1_000 }, () => record))]
    },
  },
  {
    ...{ name: '100,000 invented ids', schema: TEXT, type: 'AVRO' },
    batches: () =>
      Array.from({ length: 10 }, (_, n) =>
        encodeBatch(
          Array.from({ length: 10_000 }, (_, i) => ({ value: framed(1_000_000 + n * 10_000 + i, text(1)) })),
          { compression: 'zstd' },
        ),
      ),
  },
  ...(['gzip', 'snappy', 'lz4', 'zstd'] as const).map(bomb),
]

export const hostileRecords: Question = {
  name: 'hostile-records',
  asks: `a judged topic beside ${IN_FLIGHT} hostile requests in flight to another one: its rate, the delay of the event loop, and memory`,
  async answer(harness) {
    const folder = mkdtempSync(join(tmpdir(), 'ketch-hostile-'))
    harness.after(async () => rmSync(folder, { recursive: true }))
    const broker = await harness.broker(SETTINGS, undefined, command => [
      command[0]!,
      LOOP_DELAY_FLAG,
      COLLECTS_FLAG,
      ...command.slice(1),
    ])
    await harness.topic(broker.port, 'other', PARTITIONS, KEPT)
    const id = await registerSchema(broker, 'other-value', TEXT, 'AVRO')
    const file = join(folder, 'batch')
    writeFileSync(file, encodeBatch(Array.from({ length: 63 }, () => ({ value: framed(id, text(1_000)) }))))
    const load = { topic: 'other', partitions: PARTITIONS, connections: 1, 'in-flight': 5, batch: file }
    const rate = async () =>
      (await harness.load('produce', broker, { ...load, seconds: harness.seconds })).megabytesPerSecond
    await rate()
    const findings: Finding[] = []
    for (const attack of ATTACKS) findings.push(...(await measure(harness, broker, attack, rate)))
    return findings
  },
}

async function measure(
  harness: Harness,
  broker: BrokerProcess,
  attack: Attack,
  rate: () => Promise<number>,
): Promise<Finding[]> {
  const { name, schema, type } = attack
  const topic = `h${ATTACKS.indexOf(attack)}`
  await harness.topic(broker.port, topic, 1, { ...KEPT, 'max.message.bytes': String(16 << 20) })
  const batches = attack.batches(await registerSchema(broker, `${topic}-value`, schema, type))
  const ratios: number[] = []
  const delays: number[] = []
  const calmDelays: number[] = []
  let answered = 0
  for (let round = 0; round < harness.rounds; round++) {
    await loopDelay(broker)
    const alone = await rate()
    calmDelays.push((await loopDelay(broker)).p999)
    const attacker = startAttack(broker, topic, batches)
    ratios.push((await rate()) / alone)
    delays.push((await loopDelay(broker)).p999)
    answered += await attacker.end()
  }
  // Here too for the memory: other topics would change it by what the log holds of them.
  const before = await keptMegabytes(broker)
  const cpuBefore = cpuSeconds(broker.pid)
  const attacker = startAttack(broker, topic, batches)
  await new Promise(resolve => setTimeout(resolve, ALONE_MS))
  const share = ((cpuSeconds(broker.pid) - cpuBefore) * 1000) / ALONE_MS
  answered += await attacker.end()
  const grown = (await keptMegabytes(broker)) - before
  harness.say(`${name}: ${answered} hostile requests answered`)
  return [
    {
      what: `${name}, rate of the other topic`,
      value: median(ratios),
      unit: 'of its rate alone',
      floor: 0.8,
      samples: ratios,
      notes: `alone the attack takes ${share.toFixed(2)} of a processor`,
    },
    {
      ...{ what: `${name}, loop delay p99.9`, value: median(delays), unit: 'ms', ceiling: 50, samples: delays },
      notes: `${median(calmDelays).toFixed(0)} ms without the attack`,
    },
    { what: `${name}, memory kept`, value: grown, unit: 'MB more than before', ceiling: 50 },
  ]
}

/** Keeps requests in flight until it ends; resolves then with the number of answers. */
function startAttack({ port }: BrokerProcess, name: string, batches: readonly Buffer[]) {
  let isOn = true
  let answered = 0
  const all = Array.from({ length: IN_FLIGHT }, async (_, slot) => {
    const wire = await connect({ port })
    for (let i = slot; isOn; i++) {
      const topicData = [{ name, partitionData: [{ index: 0, records: batches[i % batches.length]! }] }]
      await wire.send(produce, 9, { acks: -1, timeoutMs: 30_000, topicData })
      answered++
    }
    await wire.close()
  })
  return {
    async end() {
      isOn = false
      await Promise.all(all)
      return answered
    },
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value * 2
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}

// Measures the start and the idle memory of a broker: the time from the process's start to the printed address and to
// the first acknowledged produce, the resident anonymous memory, the start by `npm start` with the console and without
// it, and the start with a large store. KETCH_STORE_GB
// sets the large store's size in GB (default 1; the promise is for 10).

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../scripts/node24.mjs'
import { sleep, systemClock } from '../src/base/clock.ts'
import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { encodeBatch } from '../src/protocol/records.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'

/** The time in milliseconds in which the timers of the start run, before the memory is read. */
const SETTLE_MS = 2000

export const startup: Question = {
  name: 'startup',
  asks: 'from the start of the process to the printed address and to the first acknowledged produce; idle memory; the console; a large store',
  async answer(harness) {
    const announced: number[] = []
    const acknowledged: number[] = []
    const memory: number[] = []
    for (let round = 0; round < harness.rounds; round++) {
      const begunAt = systemClock.monotonic()
      const broker = await harness.broker()
      announced.push(broker.startedInMs)
      await produceOne(broker)
      acknowledged.push(systemClock.monotonic() - begunAt)
      await sleepAwake(SETTLE_MS)
      memory.push(await anonymousMegabytes(broker.pid))
      await broker.kill('SIGTERM')
    }
    return [
      { what: 'Kafka address printed', value: median(announced), unit: 'ms', ceiling: 2000, samples: announced },
      {
        what: 'first acknowledged produce',
        value: median(acknowledged),
        unit: 'ms',
        ceiling: 1000,
        samples: acknowledged,
      },
      { what: 'idle anonymous memory', value: median(memory), unit: 'MB', ceiling: 150, samples: memory },
      await measureConsole(harness),
      ...(await measureLargeStore(harness)),
    ]
  },
}

/** Creates a topic and produces one record that the broker must acknowledge. */
async function produceOne(broker: BrokerProcess): Promise<void> {
  const wire = await connect({ port: broker.port })
  await wire.send(createTopics, 7, {
    topics: [{ name: 'first', numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }],
    timeoutMs: 5000,
    validateOnly: false,
  })
  const answer = await wire.send(produce, 9, {
    acks: -1,
    timeoutMs: 5000,
    topicData: [{ name: 'first', partitionData: [{ index: 0, records: encodeBatch([{ value: 'first' }]) }] }],
  })
  const { errorCode } = answer.responses[0]!.partitionResponses[0]!
  if (errorCode !== 0) throw new Error(`the first produce was refused with ${errorCode}`)
  await wire.close()
}

/** Sleeps and keeps this process alive. */
export async function sleepAwake(ms: number): Promise<void> {
  const alive = setInterval(() => undefined, ms)
  await sleep(systemClock, ms)
  clearInterval(alive)
}

/** Returns the resident memory that no file backs, in MB of 10^6 bytes. */
export async function anonymousMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return (Number(/RssAnon:\s+(\d+) kB/.exec(status)![1]) * 1024) / 1e6
}

/** Measures starts by the launcher, which looks at the console each time. The start that builds it does not count. */
async function measureConsole(harness: Harness): Promise<Finding> {
  const launcher = join(root, 'scripts', 'start.mjs')
  const startOnce = async (isEnabled: boolean) => {
    const broker = await harness.broker({ 'svc.ui.enabled': String(isEnabled) }, undefined, command => [
      process.execPath,
      launcher,
      ...command.slice(command.findIndex(part => part.endsWith('main.ts')) + 1),
    ])
    await broker.kill('SIGTERM')
    return broker.startedInMs
  }
  await startOnce(true)
  const samples: number[] = []
  const baseSamples: number[] = []
  for (let round = 0; round < harness.rounds; round++) {
    samples.push(await startOnce(true))
    baseSamples.push(await startOnce(false))
  }
  const value = median(samples)
  return {
    what: 'second start by npm start',
    value,
    unit: 'ms',
    ratio: value / median(baseSamples),
    ratioOf: 'one with svc.ui.enabled=false',
    ceiling: 1.1,
    samples,
    baseSamples,
  }
}

async function measureLargeStore(harness: Harness): Promise<Finding[]> {
  const gigabytes = Number(process.env.KETCH_STORE_GB ?? '1')
  const folder = await mkdtemp(join(tmpdir(), 'ketch-large-'))
  harness.after(() => rm(folder, { recursive: true, force: true }))
  const broker = await harness.broker({ 'svc.storage.local.embedded.fsync': 'interval' }, folder)
  await harness.topic(broker.port, 'bench', 16, { 'retention.bytes': '-1' })
  await harness.load('produce', broker, { partitions: 16, connections: 8, 'in-flight': 5, bytes: gigabytes * 1e9 })
  const starts: number[] = []
  const afterKill: number[] = []
  for (let round = 0; round < harness.rounds; round++) {
    await broker.kill('SIGTERM')
    await broker.start()
    starts.push(broker.startedInMs)
    await broker.kill('SIGKILL')
    await broker.start()
    afterKill.push(broker.startedInMs)
  }
  return [
    { what: `start of a ${gigabytes} GB store`, value: median(starts), unit: 'ms', ceiling: 2000, samples: starts },
    {
      what: `start of a ${gigabytes} GB store after kill -9`,
      value: median(afterKill),
      unit: 'ms',
      ceiling: 2000,
      samples: afterKill,
    },
  ]
}

// Measures the cost of clients that request many bytes and read slowly. Ten producers at half of their full rate and
// a group run alone, then beside 200 connections that request 50 MB at a time and read 1 MB/s each, then beside 2,000
// connections that read nothing.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sleep, systemClock } from '../src/base/clock.ts'
import { fetch } from '../src/protocol/messages/fetch.ts'
import { heartbeat } from '../src/protocol/messages/heartbeat.ts'
import { joinGroup } from '../src/protocol/messages/join-group.ts'
import { syncGroup } from '../src/protocol/messages/sync-group.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import { prepareBatch, produceHead } from './frames.ts'
import { type Finding, type Harness, median, type Question, residentOf } from './harness.ts'
import { BATCH_BYTES, type Paced, PRODUCERS, produceAtFullSpeed, producePaced, RECORD_BYTES } from './producers.ts'
import type { Slow } from './slow.ts'

const PARTITIONS = PRODUCERS
const OLD = { topic: 'slow', partitions: 60, batchBytes: 900_000 }
const MB = 2 ** 20
/** The time in milliseconds before the slow readers connect: the producers have reached their pace. */
const ARRIVAL_MS = 1000
const here = fileURLToPath(new URL('.', import.meta.url))

const WAYS = [
  { name: '200 connections that read 1 MB/s', connections: 200, rate: MB },
  { name: '2,000 connections that read nothing', connections: 2000, rate: 0 },
] as const

export const slowReaders: Question = {
  name: 'slow-readers',
  asks: 'ten producers at half their rate and a group, beside clients that ask for 50 MB and read slowly or not at all',
  async answer(harness) {
    const findings: Finding[] = []
    for (const way of WAYS) findings.push(...(await measure(harness, way)))
    return findings
  },
}

async function measure(harness: Harness, way: (typeof WAYS)[number]): Promise<Finding[]> {
  const broker = await harness.broker()
  await harness.topic(broker.port, 'bench', PARTITIONS, { 'retention.bytes': String(64 * MB) })
  await harness.topic(broker.port, OLD.topic, OLD.partitions)
  await fill(broker)
  const group = await startGroup(broker)
  const join = async () => connectSocket({ port: broker.port, host: '127.0.0.1', noDelay: true })
  await produceAtFullSpeed(join, 2)
  const perSecond = (await produceAtFullSpeed(join, 3)) / 2
  harness.say(`half of the full rate: ${((perSecond * BATCH_BYTES) / MB).toFixed(1)} MB/s`)
  const alone: Paced[] = []
  const beside: Paced[] = []
  const slow: Slow[] = []
  let residentBytes = 0
  for (let round = 0; round < harness.rounds; round++) {
    alone.push(await producePaced(join, perSecond, harness.seconds))
    const aloneBytes = residentOf(broker.pid)
    const coming = sleep(systemClock, ARRIVAL_MS).then(() => startSlow(broker, way))
    const watch = setInterval(() => {
      residentBytes = Math.max(residentBytes, residentOf(broker.pid))
    }, 200)
    beside.push(await producePaced(join, perSecond, harness.seconds))
    clearInterval(watch)
    slow.push(await (await coming)())
    const [before, after] = [alone.at(-1)!, beside.at(-1)!]
    const [least] = slow.at(-1)!.bytes
    harness.say(
      `${way.name}: pace ${after.pace.toFixed(3)}, p99 ${before.p99Ms.toFixed(1)} then ${after.p99Ms.toFixed(1)} ms, ` +
        `resident ${(aloneBytes / MB).toFixed(0)} then at most ${(residentBytes / MB).toFixed(0)} MB, least read ${(least! / MB).toFixed(1)} MB, closed ${slow.at(-1)!.closed}`,
    )
  }
  const rebalances = await group.end()
  const p99 = (found: readonly Paced[]) => median(found.map(({ p99Ms }) => p99Ms))
  const rates = slow.map(({ bytes, seconds }) => bytes[0]! / seconds / MB)
  const withWay = `beside ${way.name}`
  const reading: Finding[] =
    way.rate === 0
      ? [{ what: `closed, ${withWay}`, value: median(slow.map(({ closed }) => closed)), unit: 'connections' }]
      : [
          {
            what: `the slowest of them, ${withWay}`,
            value: median(rates),
            unit: 'MB/s',
            ratio: (median(rates) * MB) / way.rate,
            ratioOf: 'its pace',
            floor: 0.9,
            samples: rates,
          },
        ]
  return [
    {
      what: `pace of the producers ${withWay}`,
      value: median(beside.map(({ pace }) => pace)),
      unit: 'of what was sent',
      ratio: median(beside.map(({ pace }) => pace)),
      ratioOf: 'the pace that they were to keep',
      floor: 0.95,
    },
    {
      what: `p99 of a produce ${withWay}`,
      value: p99(beside),
      unit: 'ms',
      ratio: p99(beside) / p99(alone),
      ratioOf: `p99 alone (${p99(alone).toFixed(1)} ms)`,
      ceiling: 2,
      samples: beside.map(({ p99Ms }) => p99Ms),
      baseSamples: alone.map(({ p99Ms }) => p99Ms),
    },
    {
      what: `rebalances ${withWay}`,
      value: rebalances,
      unit: 'rebalances',
      ratio: rebalances,
      ratioOf: '1',
      ceiling: 0,
    },
    {
      what: `resident memory of the broker ${withWay}`,
      value: residentBytes / MB,
      unit: 'MB',
      ratio: residentBytes / 2 ** 30,
      ratioOf: '1 GB',
      ceiling: 1,
    },
    ...reading,
  ]
}

/** Produces one large batch to each partition. The slow readers read these batches again and again. */
async function fill({ port }: BrokerProcess): Promise<void> {
  const batch = prepareBatch(OLD.batchBytes, RECORD_BYTES)
  const wire = connectSocket({ port, host: '127.0.0.1' })
  for (let partition = 0; partition < OLD.partitions; partition++) {
    wire.write(Buffer.concat([produceHead(OLD.topic, partition, batch.length), batch]))
    await once(wire, 'data')
  }
  wire.destroy()
}

/** Starts a group of one member that reads the produced records and counts how often it has to join again. */
async function startGroup({ port }: BrokerProcess) {
  const [coordination, data] = [await connect({ port }), await connect({ port })]
  const protocols = [{ name: 'range', metadata: Buffer.alloc(0) }]
  const group = { groupId: 'g', protocolType: 'consumer' }
  const timeouts = { sessionTimeoutMs: 6000, rebalanceTimeoutMs: 6000 }
  let memberId = ''
  let generationId = -1
  let joins = 0
  const enter = async () => {
    joins++
    const { errorCode, ...joined } = await coordination.send(joinGroup, 3, {
      ...group,
      ...timeouts,
      memberId,
      protocols,
    })
    if (errorCode !== 0) throw new Error(`error ${errorCode} to a join`)
    memberId = joined.memberId
    generationId = joined.generationId
    const assignments = [{ memberId, assignment: Buffer.alloc(0) }]
    await coordination.send(syncGroup, 2, { groupId: 'g', generationId, memberId, assignments })
  }
  await enter()
  let isOver = false
  const beat = async () => {
    while (!isOver) {
      const { errorCode } = await coordination.send(heartbeat, 2, { groupId: 'g', generationId, memberId })
      if (errorCode !== 0) await enter()
      await new Promise(resolve => setTimeout(resolve, 500))
    }
  }
  const read = async () => {
    const offsets = new Array<number>(PARTITIONS).fill(0)
    while (!isOver) {
      const partitions = offsets.map((fetchOffset, partition) => ({ partition, fetchOffset, partitionMaxBytes: MB }))
      const topics = [{ topic: 'bench', partitions }]
      const { responses } = await data.send(fetch, 11, {
        maxWaitMs: 500,
        minBytes: 1,
        maxBytes: 50 * MB,
        sessionEpoch: -1,
        topics,
      })
      for (const row of responses[0]?.partitions ?? []) offsets[row.partitionIndex] = row.highWatermark
    }
  }
  const work = Promise.all([beat(), read()])
  return {
    async end(): Promise<number> {
      isOver = true
      await work
      await Promise.all([coordination.close(), data.close()])
      return joins - 1
    },
  }
}

/** Starts bench/slow.ts. Resolves when all its connections have sent their request, with a function that ends it. */
async function startSlow(
  { port }: BrokerProcess,
  { connections, rate }: (typeof WAYS)[number],
): Promise<() => Promise<Slow>> {
  const where = Object.entries({ port, topic: OLD.topic, partitions: OLD.partitions, connections, rate })
  const flags = where.flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(process.execPath, [join(here, 'slow.ts'), ...flags], { stdio: ['pipe', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', chunk => {
    printed += chunk
  })
  await once(child.stdout, 'data')
  return async () => {
    child.stdin.end()
    await once(child, 'close')
    return JSON.parse(printed.split('\n')[1]!) as Slow
  }
}

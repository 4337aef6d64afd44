// Measures the cost of many topics and many partitions: Metadata for all topics and the start with 5,000 topics, and
// a produce request compared with the same request with one topic.

import { systemClock } from '../src/base/clock.ts'
import { metadata } from '../src/protocol/messages/metadata.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { connect } from '../testing/wire.ts'
import { type Finding, type Harness, type Measured, median, type Question } from './harness.ts'
import { createMany, manyNames } from './many.ts'

const TOPICS = 5000
const LARGEST = 128

/** More than the requests in flight, so that each request is an append of its own, as in a cluster with many topics. */
const SPREAD = 64

/** Small batches, so that the cost of their bytes does not hide the cost of a request. */
const SMALL = { 'batch-bytes': 1024, 'record-bytes': 900, connections: 8, 'in-flight': 5 }

export const scale: Question = {
  name: 'scale',
  asks: '5,000 topics and one of 128 partitions: Metadata, start, produce',
  async answer(harness) {
    return await measureTopics(harness)
  },
}

async function measureTopics(harness: Harness): Promise<Finding[]> {
  const [one, many] = [await harness.broker(), await harness.broker()]
  await harness.topic(one.port, 'bench', SPREAD)
  await createMany(many.port, manyNames(TOPICS))
  await harness.topic(many.port, 'large', LARGEST)
  const ways = [
    { name: 'one topic', broker: one, args: { topic: 'bench', partitions: SPREAD } },
    { name: `all of ${TOPICS} topics in turn`, broker: many, args: { topic: 'many', topics: TOPICS, partitions: 1 } },
    { name: `a topic of ${LARGEST} partitions`, broker: many, args: { topic: 'large', partitions: LARGEST } },
  ]
  const costs = ways.map((): number[] => [])
  for (let round = 0; round < harness.rounds; round++) {
    for (const [at, { name, broker, args }] of ways.entries()) {
      const load = await harness.load('produce', broker, { ...SMALL, ...args, seconds: harness.seconds })
      costs[at]!.push(cpuMicrosPerRequest(load))
      harness.say(`${name}: ${costs[at]!.at(-1)!.toFixed(0)} µs of CPU, ${(load.requests / load.seconds).toFixed(0)}/s`)
    }
  }
  const [base] = costs.map(median)
  const findings = ways.map(({ name }, at): Finding => {
    const value = median(costs[at]!)
    const finding = { what: `CPU of a produce request, ${name}`, value, unit: 'µs', samples: costs[at]! }
    return at === 0 ? finding : { ...finding, ratio: value / base!, ratioOf: 'one topic', ceiling: 1.3 }
  })
  return [...(await measureMetadata(many, harness)), ...(await measureStart(many, harness)), ...findings]
}

function cpuMicrosPerRequest({ cpuMsPer100MB, bytes, requests }: Measured): number {
  return (cpuMsPer100MB * 1000 * (bytes / 1e8)) / requests
}

async function measureMetadata({ port }: BrokerProcess, harness: Harness): Promise<Finding[]> {
  const wire = await connect({ port })
  const samples: number[] = []
  // The first request is what a client of a just started broker gets. All requests are counted.
  for (let round = 0; round < 4 * harness.rounds; round++) {
    const begunAt = systemClock.monotonic()
    const { topics } = await wire.send(metadata, 12, { topics: null })
    samples.push(systemClock.monotonic() - begunAt)
    if (topics.length !== TOPICS + 1) throw new Error(`there are ${topics.length} topics`)
  }
  await wire.close()
  return [
    { what: 'Metadata for all topics, decoded', value: median(samples), unit: 'ms', ceiling: 100, samples },
    { what: 'the slowest of them', value: Math.max(...samples), unit: 'ms', ceiling: 100 },
  ]
}

async function measureStart(broker: BrokerProcess, harness: Harness): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const samples: number[] = []
    for (let round = 0; round < harness.rounds; round++) {
      await broker.kill(signal)
      await broker.start()
      samples.push(broker.startedInMs)
    }
    const what = `start with ${TOPICS} topics after ${signal}`
    findings.push({ what, value: median(samples), unit: 'ms', ceiling: 3000, samples })
  }
  return findings
}

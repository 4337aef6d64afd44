// Consumers that request a lot and read nothing, and brokers with a small heap. The budget of pending bytes suspends
// the reading of requests. The brokers survive, their memory stays within bounds, and consumers that read continue.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { errors } from '../../../src/protocol/errors.ts'
import { fetch } from '../../../src/protocol/messages/fetch.ts'
import { produce } from '../../../src/protocol/messages/produce.ts'
import { encodeBatch } from '../../../src/protocol/records.ts'
import { noRedis } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { connect, type Wire } from '../../../testing/wire.ts'
import { openClusterCaller } from '../cluster-caller.ts'
import { type Fault, type RoundContext, runRound } from './round.ts'
import { openAlone } from './scene.ts'
import { makeTopic, unmakeTopic } from './topics.ts'

const skip = process.platform === 'linux' ? noRedis : 'SKIPPED memory: /proc tells what a process has in memory'

const MIB = 1024 * 1024
const PARTITIONS = 6
const BATCH_BYTES = MIB / 2
const BATCHES = 60
/** Consumers of each broker. All of them together request some hundred times the budget. */
const CONSUMERS = 24
const FETCHES = 20
const HEAP_MIB = 96
const BUDGET_BYTES = 32 * MIB
/** A broker's memory in MiB in addition to heap and budget: Node, buffers between two collections, the caches. */
const BESIDE_MIB = 256
const FELT_MS = 8_000

const SETTINGS: Readonly<Record<string, string>> = {
  'svc.broker.global-max-pending-bytes': `${BUDGET_BYTES / MIB}MB`,
  'svc.broker.global-resume-pending-bytes': `${BUDGET_BYTES / MIB / 2}MB`,
  'svc.broker.max-pending-bytes': '8MB',
  'svc.broker.resume-pending-bytes': '4MB',
  'svc.broker.fetch-max-bytes': '2MB',
  'svc.storage.local.tail-cache-bytes': '16MB',
}

function residentMib(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!
  return Number(kib) / 1024
}

async function fill({ scene, run, random }: RoundContext, topic: string): Promise<void> {
  const ports = scene.nodes.map(({ broker }) => broker.port)
  const caller = openClusterCaller({ topic, ports, route: port => port, timeoutMs: 30_000, random })
  for (let sent = 0; sent < BATCHES; ) {
    const records = encodeBatch([{ value: random.bytes(BATCH_BYTES) }])
    const topicData = [{ name: topic, partitionData: [{ index: sent % PARTITIONS, records }] }]
    const { responses } = await caller.send(produce, 12, { acks: -1, timeoutMs: 30_000, topicData })
    const { errorCode, errorMessage } = responses[0]!.partitionResponses[0]!
    if (errorCode === 0) sent++
    else if (errors.some(error => error.code === errorCode && error.retriable)) await run.pause(50)
    else throw new Error(`filling ${topic}: ${errorCode} ${errorMessage}`)
  }
  await caller.close()
}

/** Sends fetch requests for all records, and reads no response. */
async function ask(wire: Wire, topic: string): Promise<void> {
  wire.socket.pause()
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => ({
    partition,
    fetchOffset: 0,
    partitionMaxBytes: 64 * MIB,
  }))
  for (let sent = 0; sent < FETCHES; sent++) {
    await wire.post(fetch, 12, {
      maxWaitMs: 100,
      minBytes: 1,
      maxBytes: 64 * MIB,
      topics: [{ topic, partitions }],
      forgottenTopicsData: [],
    })
  }
}

const fatConsumers: Fault = {
  name: 'fat consumers that read nothing',
  async act(context) {
    const { scene, run } = context
    const { broker: maker } = scene.nodes[0]!
    const topic = `fat-${run.topic}`
    await makeTopic(maker, topic, PARTITIONS)
    await fill(context, topic)
    const pids = scene.nodes.map(({ broker }) => broker.pid)
    const wires: Wire[] = []
    let most = 0
    try {
      for (const { broker } of scene.nodes) {
        for (let at = 0; at < CONSUMERS; at++) wires.push(await connect({ port: broker.port }))
      }
      await Promise.all(wires.map(wire => ask(wire, topic)))
      for (let feltMs = 0; feltMs < FELT_MS; feltMs += 100) {
        await run.pause(100)
        most = Math.max(most, ...pids.map(residentMib))
      }
    } finally {
      await Promise.all(wires.map(wire => wire.close()))
    }
    assert.ok(most < HEAP_MIB + BUDGET_BYTES / MIB + BESIDE_MIB, `a broker had ${Math.round(most)} MiB in memory`)
    // When they are gone, the broker serves all clients again, whether it was suspended or not.
    await run.progress(100)
    await unmakeTopic(maker, topic)
    return `${wires.length} consumers asked for much and read nothing; a broker had ${Math.round(most)} MiB in memory at most`
  },
}

test(`fat consumers that read nothing cost a broker no more memory than its budget (seed ${seed})`, {
  skip,
  timeout: 580_000,
}, async t => {
  const nodeFlags = [`--max-old-space-size=${HEAP_MIB}`]
  const scene = await openAlone(t, { seed, settings: SETTINGS, nodeFlags })
  const pids = scene.nodes.map(({ broker }) => broker.pid)
  t.diagnostic(JSON.stringify(await runRound(scene, 1, fatConsumers)))
  for (const [at, { broker }] of scene.nodes.entries()) {
    assert.equal(broker.pid, pids[at])
    assert.doesNotThrow(() => process.kill(broker.pid, 0), 'the broker lives')
  }
})

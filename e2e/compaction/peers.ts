// The brokers that get the same histories: Apache Kafka, and Ketch on each store. Each can be asked how far its cleaner
// has come, which the Kafka protocol does not show. This file compares nothing.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { adminClient } from '../../testing/admin-client.ts'
import { startApacheKafka } from '../../testing/apache-kafka.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { startRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'

export const STORES = ['embedded', 'redis'] as const
export type Store = (typeof STORES)[number]

export interface Peer {
  readonly name: string
  readonly port: number
  /** Configs that a topic needs here so that everything but its newest batch can be cleaned at once. */
  readonly topicConfigs: Readonly<Record<string, string>>
  /** Resolves with the offset below which the cleaner has cleaned partition 0 of the topic. */
  cleanedTo(topic: string): Promise<number>
  /** Ends the broker as an operator does and starts it again, so that its partitions have another leader epoch. */
  restart(): Promise<void>
}

export async function startKafkaPeer(cleanUp: CleanUp): Promise<Peer> {
  const kafka = await startApacheKafka(cleanUp, {
    properties: {
      'log.cleaner.backoff.ms': '100',
      'log.cleaner.dedupe.buffer.size': String(32 * 1024 * 1024),
      'offsets.topic.num.partitions': '1',
    },
  })
  return {
    name: 'Apache Kafka',
    port: kafka.port,
    // By the timestamps of the records.
    topicConfigs: { 'segment.ms': '600000' },
    async cleanedTo(topic) {
      const file = join(kafka.folder, 'logs', 'cleaner-offset-checkpoint')
      const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        // Kafka writes the file after the first cleaning.
        if (error.code === 'ENOENT') return ''
        throw error
      })
      const [, offset] = new RegExp(`^${topic} 0 (\\d+)$`, 'm').exec(text) ?? []
      return Number(offset ?? 0)
    },
    async restart() {
      await kafka.kill('SIGTERM')
      await kafka.start()
    },
  }
}

/** Starts a broker whose storage worker begins a round five times a second. */
export async function startCleaningProcess(
  cleanUp: CleanUp,
  store: Store,
  settings: Readonly<Record<string, string>> = {},
): Promise<BrokerProcess> {
  const folder = await temporaryFolder(cleanUp, 'ketch-compaction-')
  const redis = store === 'redis' ? { 'svc.redis.uri': (await startRedis(cleanUp)).uri } : {}
  return await startBrokerProcess(cleanUp, {
    folder,
    settings: {
      'svc.storage.worker.tick-interval': '200ms',
      'svc.storage.worker.lease-duration': '5s',
      'svc.admin.security-enabled': 'false',
      // On a busy machine a broker must not refuse clients because it doubts its own lead.
      'svc.broker.expiry': '1m',
      ...redis,
      ...settings,
    },
  })
}

export async function startKetchPeer(cleanUp: CleanUp, store: Store): Promise<Peer> {
  const broker = await startCleaningProcess(cleanUp, store)
  return {
    name: `Ketch (${store})`,
    port: broker.port,
    // By the clock of the broker.
    topicConfigs: { 'segment.ms': '50' },
    async cleanedTo(topic) {
      const path = `/api/v1/topics/${topic}/partitions/0/segments?limit=1`
      const { status, body } = await adminClient(broker.url).ask('GET', path)
      const { cleanedTo, uncleanable, trouble } = body
      assert.deepEqual({ status, uncleanable, trouble }, { status: 200, uncleanable: null, trouble: null })
      return cleanedTo
    },
    async restart() {
      await broker.kill('SIGTERM')
      await broker.start()
    },
  }
}

// The world of a round of the remote tier: brokers on a store of their own, and the place of the tables. Each round has
// a new one.

import { join } from 'node:path'
import { systemClock, within } from '../../../src/base/clock.ts'
import { seededRandom } from '../../../src/base/random.ts'
import { metadata } from '../../../src/protocol/messages/metadata.ts'
import type { Objects } from '../../../src/tier/objects/objects.ts'
import { openObjects, parsePlace } from '../../../src/tier/objects/place.ts'
import type { CleanUp } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { inReverse } from '../../../testing/in-reverse.ts'
import { type BrokerProcess, startBrokerProcess } from '../../../testing/process.ts'
import { type RedisServer, startRedis } from '../../../testing/redis.ts'
import { type S3Stub, startS3Stub } from '../../../testing/s3-stub.ts'
import { mountSmallDisk, type SmallDisk } from '../../../testing/small-disk.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { connect } from '../../../testing/wire.ts'
import { type Orders, openOrders } from '../orders.ts'
import { insist } from '../redis/insist.ts'
import { readCounter } from '../redis/probing.ts'
import { STEPS } from './steps.ts'

export interface WorldOptions {
  readonly seed: number
  /** Brokers on the embedded store (1), or on one Redis (1 or 2). */
  readonly store: 'embedded' | 'Redis'
  readonly brokers: 1 | 2
  readonly place: 'folder' | 'bucket'
  /** Settings of every broker, in addition to those of the world. */
  readonly settings?: Readonly<Record<string, string>>
  readonly nodeFlags?: readonly string[]
  /** The MiB of a disk of its own for the embedded store. */
  readonly diskMiB?: number
}

export interface World {
  readonly options: WorldOptions
  readonly brokers: readonly BrokerProcess[]
  readonly orders: Orders
  readonly redis: RedisServer | null
  /** Null if the tables are in a folder. */
  readonly stub: S3Stub | null
  readonly disk: SmallDisk | null
  /** The place of the tables. Faults of the stub meet the test too. */
  readonly objects: Objects
  /** Resolves with the broker that runs the storage worker; null while no broker does. */
  holder(): Promise<BrokerProcess | null>
}

/** How long a broker may be silent before the others take over. */
const EXPIRY_MS = 2_000
/** A broker that stands still gives no answer. */
const ANSWER_MS = 2_000

/** Short times for short rounds. None of them is a safeguard. */
const SETTINGS: Readonly<Record<string, string>> = {
  'svc.broker.rebalance-delay': '100ms',
  'svc.storage.worker.tick-interval': '150ms',
  'svc.storage.worker.lease-duration': '3s',
  // A round kills the same attempt again and again.
  'svc.storage.worker.offload-jobs.max-attempts': '30',
  'svc.storage.remote.iceberg.max-file-wait': '300ms',
  'svc.storage.remote.iceberg.offload.threads': '1',
  'svc.storage.remote.iceberg.read.threads': '2',
  'svc.storage.remote.iceberg.read.queue-capacity': '200',
  'svc.storage.remote.iceberg.row-group-size': '64KB',
  'svc.storage.remote.iceberg.target-file-size': '256KB',
  'svc.storage.local.embedded.journal-file-bytes': '1MB',
  'svc.admin.security-enabled': 'false',
  'svc.admin.anonymous-prometheus': 'true',
}

const ON_REDIS: Readonly<Record<string, string>> = {
  'svc.broker.expiry': `${EXPIRY_MS}ms`,
  'svc.redis.timeout': '4s',
  'svc.storage.local.write.connections': '2',
  'svc.storage.local.read.connections': '2',
  'svc.redis.circuit-breaker.open-duration': '300ms',
}

export async function openWorld(test: CleanUp, options: WorldOptions): Promise<World> {
  const cleanUp = inReverse(test)
  const { seed, store, brokers: count, place, settings = {}, nodeFlags = [], diskMiB } = options
  const orders = await openOrders(cleanUp, STEPS)
  const stub = place === 'bucket' ? await startS3Stub(cleanUp) : null
  const path = stub === null ? await temporaryFolder(cleanUp, 'ketch-remote-') : `s3://${stub.bucket}/tier`
  const rooms = { clock: systemClock, random: seededRandom(seed), warn() {} }
  const objects = await openObjects(parsePlace(path), stub?.options ?? {}, rooms)
  cleanUp.after(() => objects.close())
  const redis = store === 'Redis' ? await startRedis(cleanUp, { appendfsync: 'always' }) : null
  const disk = diskMiB === undefined ? null : await mountSmallDisk(cleanUp, diskMiB)
  const common = {
    ...SETTINGS,
    'svc.storage.remote.path': path,
    ...(stub === null ? {} : inBucket(stub)),
    ...(redis === null ? {} : { ...ON_REDIS, 'svc.redis.uri': redis.uri }),
    ...settings,
  }
  const brokers = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const own: Readonly<Record<string, string>> = redis === null ? {} : { 'svc.broker.id': String(at + 1) }
      const folder = disk === null ? await temporaryFolder(cleanUp, 'ketch-remote-') : join(disk.path, 'store')
      const flags = [...orders.nodeFlags, ...nodeFlags]
      const options = { folder, settings: { ...common, ...own }, nodeFlags: flags }
      return await insist(() => startBrokerProcess(cleanUp, options))
    }),
  )
  for (const broker of brokers) await seesAll(broker, count)
  return {
    options,
    brokers,
    orders,
    redis,
    stub,
    disk,
    objects,
    async holder() {
      for (const broker of brokers) if (await isHolder(broker)) return broker
      return null
    },
  }
}

function inBucket({ endpoint, options }: S3Stub): Readonly<Record<string, string>> {
  return {
    'svc.storage.remote.s3.endpoint': endpoint,
    'svc.storage.remote.s3.path-style-access': 'true',
    'svc.storage.remote.s3.access-key-id': options.accessKeyId!,
    'svc.storage.remote.s3.secret-access-key': options.secretAccessKey!,
  }
}

async function isHolder(broker: BrokerProcess): Promise<boolean> {
  try {
    const up = readCounter(broker, 'svc_storage_worker_up')
    return (await within(systemClock, ANSWER_MS, up, () => 0)) === 1
  } catch {
    // It has ended.
    return false
  }
}

/** Resolves when the broker sees all brokers. Brokers that start together may each see fewer at first. */
async function seesAll(broker: BrokerProcess, count: number): Promise<void> {
  const wire = await connect(broker)
  const look = async () => (await wire.send(metadata, 9, { topics: [] })).brokers.length === count
  await eventually(`the broker at ${broker.address} sees ${count} brokers`, look, 60_000)
  await wire.close()
}

// A broker's fetches of topics whose oldest records only an archive has, on the memory store and the simulated clock.
// The test decides when the archive answers. Partitions are real, but for the reads of their cold offsets.

import type { TestContext } from 'node:test'
import { fetchHandler } from '../../src/kafka/handlers/fetch.ts'
import type { Partition, ReadResult } from '../../src/log/partition.ts'
import { because, KAFKA_STORAGE_ERROR, type Refusal } from '../../src/protocol/errors.ts'
import type { fetch } from '../../src/protocol/messages/fetch.ts'
import { viewBatch } from '../../src/protocol/records.ts'
import type { RequestOf } from '../../src/protocol/schema.ts'
import { connectionOf, kafkaRooms } from './kafka-rooms.ts'
import { batchOf, type LogWorld, type LogWorldOptions, openLogWorld } from './logs.ts'

type Body = RequestOf<typeof fetch>

/** A read of the archive that was started. */
export interface StartedRead {
  readonly index: number
  readonly offset: number
  readonly maxBytes: number
  /** Answers it with the batches that are there. From now on the archive has them in memory. */
  finish(): void
  settle(result: ReadResult | Refusal): void
  fail(error: unknown): void
}

export interface ColdArchive {
  /** In the order in which they were started. Equal reads in flight are one. */
  readonly started: StartedRead[]
  /** Whether the queue is full: then it says so at once, or in the same turn of the event loop. */
  full: 'no' | 'at once' | 'soon'
  /** How often the archive was asked. */
  asked: number
  /** How many results were given back. */
  released: number
}

export interface ColdFetches extends LogWorld {
  readonly archive: ColdArchive
  /** Makes the offsets of a partition of `t` below this one cold. */
  chill(index: number, localStart: number): void
  /** Sends a fetch of a connection; its own one by default. */
  ask(
    rows: readonly (readonly [index: number, offset: number])[],
    options?: Partial<Body> & { readonly apiVersion?: number; readonly from?: Client },
  ): Asked
  client(): Client
  /** Resolves with the memory that is granted to fetches. */
  granted(): Promise<number>
}

export interface Client {
  readonly connection: object
  readonly closing: AbortController
}

export interface Asked {
  readonly answer: Promise<FetchedRows>
  readonly isAnswered: boolean
  /** The network has taken the answer. */
  sent(): void
}

/** The error code of each row that the answer names, or the base offsets of its batches. */
export type FetchedRows = { readonly sessionId: number; readonly rows: Record<number, number | readonly number[]> }

/** Opens the world with a topic `t` of these partitions, each with `batches` batches of one record. */
export async function openColdFetches(
  t: TestContext,
  { partitions = 4, batches = 10, ...options }: LogWorldOptions & { partitions?: number; batches?: number } = {},
): Promise<ColdFetches> {
  const world = await openLogWorld(t, options)
  const { clock, metrics } = world
  await world.create('t', {}, partitions)
  for (let index = 0; index < partitions; index++) {
    for (let i = 0; i < batches; i++) await world.partition('t', index).append(batchOf(1), 0)
  }
  const lines: string[] = []
  const handler = fetchHandler.open(await kafkaRooms(world, lines))
  const archive: ColdArchive = { started: [], full: 'no', asked: 0, released: 0 }
  const client = (): Client => ({
    connection: connectionOf(),
    closing: new AbortController(),
  })
  const own = client()
  const drain = new AbortController().signal
  return {
    ...world,
    lines,
    archive,
    client,
    chill: (index, localStart) => chill(archive, world.partition('t', index), localStart),
    ask(rows, { apiVersion = 12, from = own, ...body } = {}) {
      const topics = rows.length === 0 ? [] : [{ topic: 't', topicId: '', partitions: rows.map(rowOf) }]
      const request = {
        body: { ...BODY, topics, ...body },
        ...{ apiVersion, clientId: 'app', connection: from.connection, drain, closed: from.closing.signal },
        ...{ receivedAtMs: clock.monotonic(), waitedMs: 0, onSent: null as (() => void) | null },
      }
      const asked = {
        isAnswered: false,
        answer: Promise.resolve(handler.answer(request as never)).then(answer => {
          asked.isAnswered = true
          return readable(answer as unknown as Answer)
        }),
        sent: () => request.onSent?.(),
      }
      return asked
    },
    async granted() {
      const line = (await metrics.scrape()).split('\n').find(each => each.startsWith('svc_broker_fetch_granted_bytes '))
      return Number(line?.split(' ')[1])
    },
  }
}

const BUSY = because(KAFKA_STORAGE_ERROR, 'the queue is full')

/** The real archive finds out behind a few promises. */
async function busySoon(): Promise<Refusal> {
  for (let i = 0; i < 50; i++) await Promise.resolve()
  return BUSY
}

const BODY = {
  ...{ maxWaitMs: 500, minBytes: 1, maxBytes: 1_000_000, isolationLevel: 0, sessionId: 0, sessionEpoch: -1 },
  ...{ forgottenTopicsData: [], replicaId: -1, rackId: '' },
}

function rowOf([partition, fetchOffset]: readonly [number, number]) {
  return { partition, fetchOffset, currentLeaderEpoch: -1, partitionMaxBytes: 100_000 }
}

interface Answer {
  readonly errorCode?: number
  readonly sessionId?: number
  readonly responses: { partitions: { partitionIndex: number; errorCode: number; records: Uint8Array[] }[] }[]
}

function readable({ errorCode = 0, sessionId = 0, responses }: Answer): FetchedRows {
  if (errorCode !== 0) return { sessionId, rows: { [-1]: errorCode } }
  const rows = responses.flatMap(({ partitions }) =>
    partitions.map(({ partitionIndex, errorCode, records }) => [
      partitionIndex,
      errorCode === 0 ? records.map(bytes => viewBatch(bytes).baseOffset) : errorCode,
    ]),
  )
  return { sessionId, rows: Object.fromEntries(rows) }
}

/** Lets the archive answer for the offsets below `localStart`. */
function chill(archive: ColdArchive, partition: Partition, localStart: number): void {
  const { index } = partition
  const local = { read: partition.read.bind(partition), most: partition.mostBytesAt.bind(partition) }
  const inMemory = new Set<number>()
  const inFlight = new Map<number, Promise<ReadResult | Refusal>>()
  const isCold = (offset: number) => offset >= partition.logStartOffset && offset < localStart

  const found = (offset: number, maxBytes: number): ReadResult | Refusal => {
    const read = local.read(offset, maxBytes, true) as ReadResult
    const release = () => void archive.released++
    if (!('batches' in read)) return read
    const batches = read.batches.filter(bytes => viewBatch(bytes).lastOffset < localStart)
    return { ...read, batches, bytes: batches.reduce((sum, { length }) => sum + length, 0), release }
  }

  function readCold(offset: number, maxBytes: number) {
    archive.asked++
    const equal = inFlight.get(offset)
    if (equal !== undefined) return equal
    if (inMemory.has(offset)) return found(offset, maxBytes)
    if (archive.full === 'at once') return BUSY
    if (archive.full === 'soon') return busySoon()
    const { promise, resolve, reject } = Promise.withResolvers<ReadResult | Refusal>()
    inFlight.set(offset, promise)
    const end = () => void inFlight.delete(offset)
    archive.started.push({
      ...{ index, offset, maxBytes },
      finish() {
        end()
        inMemory.add(offset)
        resolve(found(offset, maxBytes))
      },
      settle(result) {
        end()
        resolve(result)
      },
      fail(error) {
        end()
        reject(error)
      },
    })
    return promise
  }

  Object.assign(partition, {
    isCold,
    mostBytesAt: (...args: Parameters<Partition['mostBytesAt']>) => (isCold(args[0]) ? 10_000 : local.most(...args)),
    read: (...args: Parameters<Partition['read']>) => {
      const [offset, maxBytes, minOneBatch] = args
      if (!isCold(offset)) return local.read(...args)
      return maxBytes <= 0 && !minOneBatch ? local.read(offset, 0, false) : readCold(offset, maxBytes)
    },
  })
}

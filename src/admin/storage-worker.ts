// Describes the storage worker and starts its rounds, from any broker: a broker that does not hold the lease asks the
// one that does. A round may take longer than a caller waits, and is then shown as it is. tier/ has the worker.

import type { Round, WorkerState } from '../api/storage.ts'
import { ROUND_OUTCOMES } from '../api/words.ts'
import { type Clock, sleep } from '../base/clock.ts'
import { hasFeature } from '../cluster/broker-record.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Peers, PeerUnavailable } from '../cluster/peers.ts'
import {
  because,
  errorOf,
  isRefusal,
  LEADER_NOT_AVAILABLE,
  NONE,
  type Refusal,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { describeStorageWorker } from '../protocol/messages/describe-storage-worker.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import type { Settings } from '../settings/settings.ts'
import type { StorageWorker } from '../tier/worker.ts'

export interface StorageWorkerRooms {
  readonly storageWorker: StorageWorker
  readonly cluster: Pick<Cluster, 'brokerId' | 'brokers'>
  readonly peers: Peers
  readonly settings: Settings
  readonly clock: Clock
}

/** A version without the remote tier does not tell what it has offloaded. */
const VERSION_WITH_TIER = 1

/** The longest time in ms that a caller waits for the end of a round. */
const ROUND_MS = 20_000
/** The caller looks again after this time, and each time after twice as long. */
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 250

/** Resolves to the state of the worker as this broker knows it, with the newest round of the holder if it answers. */
export async function describeWorker(rooms: StorageWorkerRooms): Promise<WorkerState> {
  const { storageWorker, settings } = rooms
  const holder = storageWorker.holder()
  const found = holder === null ? null : await askHolder(rooms, {})
  const withoutFeature = [...storageWorker.withoutFeature()]
  return {
    holder:
      holder === null
        ? null
        : { id: holder.id, takenAt: holder.sinceMs === null ? null : new Date(holder.sinceMs).toISOString() },
    enabled: settings.get('storage.worker.enabled'),
    tickIntervalMs: settings.get('storage.worker.tick-interval'),
    leaseDurationMs: settings.get('storage.worker.lease-duration'),
    lastRound: isRefusal(found) ? null : found,
    isCleaningAllowed: withoutFeature.length === 0,
    withoutFeature,
    trouble: holder === null ? whyNoHolder(rooms) : isRefusal(found) ? found.message : null,
  }
}

/**
 * Starts a round, or joins the one in progress, and waits for its end for a while. Resolves to the round as it is then;
 * null if no broker holds the lease. LEADER_NOT_AVAILABLE if the holder does not answer.
 */
export async function runRound(rooms: StorageWorkerRooms): Promise<Round | null | Refusal> {
  const { clock, storageWorker } = rooms
  if (storageWorker.holder() === null) return null
  const untilMs = clock.monotonic() + ROUND_MS
  const started = await askHolder(rooms, { start: true })
  if (started === null) return because(UNKNOWN_SERVER_ERROR, 'The holder of the lease has not started a round.')
  let round = started
  let waitMs = FIRST_WAIT_MS
  while (!isRefusal(round) && round.tookMs === null && clock.monotonic() < untilMs) {
    await sleep(clock, waitMs)
    waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)
    const next = await askHolder(rooms, { number: round.number })
    // The round goes on. Its broker only does not say how far it is.
    if (next === null || isRefusal(next) || next.number !== round.number) break
    round = next
  }
  return round
}

/** Returns a sentence for people about a cluster in which no broker holds the lease. */
export function whyNoHolder({ settings }: Pick<StorageWorkerRooms, 'settings'>): string {
  const mayHold = settings.get('storage.worker.enabled')
    ? 'this broker takes it when it is free'
    : 'svc.storage.worker.enabled is false on this broker'
  return `No broker holds the lease of the storage worker: nothing is rolled, dropped or cleaned; ${mayHold}.`
}

/** Resolves to a round of the holder, by default the newest; null before its first one. With `start` it starts one. */
async function askHolder(
  { storageWorker, cluster, peers }: StorageWorkerRooms,
  { start = false, number = -1 },
): Promise<Round | null | Refusal> {
  const id = storageWorker.holder()?.id ?? cluster.brokerId
  if (id === cluster.brokerId) return start ? storageWorker.start() : storageWorker.round(number)
  try {
    const version = hasFeature(cluster.brokers(), id, 'remote-tier') ? VERSION_WITH_TIER : 0
    const answer = await peers.ask(id, describeStorageWorker, version, { start, number })
    const { errorCode, errorMessage, round } = answer
    if (errorCode === NONE) return round === null ? null : (roundOf(round) ?? impossible(id))
    const error = errorOf(errorCode) ?? UNKNOWN_SERVER_ERROR
    return because(error, errorMessage ?? error.message)
  } catch (error) {
    if (!(error instanceof PeerUnavailable)) throw error
    if (!cluster.brokers().some(each => each.id === id))
      return because(
        LEADER_NOT_AVAILABLE,
        `Broker ${id} holds the lease of the storage worker, and has no Kafka listener with which other brokers could reach it: ask its own admin API.`,
      )
    return because(LEADER_NOT_AVAILABLE, `The holder of the lease of the storage worker, ${error.message}.`)
  }
}

function impossible(id: number): Refusal {
  return because(UNKNOWN_SERVER_ERROR, `Broker ${id} has told of a round in a form that this version does not read.`)
}

type ToldRound = NonNullable<ResponseOf<typeof describeStorageWorker>['round']>

/** Returns null if another version or a defect of the other broker made the values impossible. */
function roundOf({ number, startedAt, tookMs, brokers, offload }: ToldRound): Round | null {
  const rows: Round['brokers'] = []
  for (const row of brokers) {
    const outcome = ROUND_OUTCOMES.find(each => each === row.outcome)
    if (outcome === undefined) return null
    rows.push({ ...row, outcome })
  }
  const startedMs = Date.parse(startedAt)
  if (Number.isNaN(startedMs) || Number.isNaN(tookMs)) return null
  const times = { startedAt: new Date(startedMs).toISOString(), tookMs: tookMs < 0 ? null : tookMs }
  return { number, ...times, brokers: rows, offload }
}

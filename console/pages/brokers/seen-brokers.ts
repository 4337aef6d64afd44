// The brokers that this page has seen, with those that have left the cluster since, and the times since when a broker
// does not answer.

import type { Answer } from '../../api/contract.ts'

export type Broker = Answer<'list brokers'>['brokers'][number]

export interface SeenBroker {
  readonly broker: Broker
  /** When the broker started, in ms since 1970, to the second; null if it does not answer. */
  readonly upSinceMs: number | null
  /** When the first answer came in which the broker was silent, in ms since 1970; null while it answers. */
  readonly silentSinceMs: number | null
  /** When the broker was first missing in the list; null while it is there. */
  readonly goneSinceMs: number | null
}

/** Returns the brokers after one more list, which came at this time. A broker that has left stays. */
export function noteBrokers(
  before: readonly SeenBroker[],
  brokers: readonly Broker[],
  atMs: number,
): readonly SeenBroker[] {
  const earlier = new Map(before.map(seen => [seen.broker.id, seen]))
  const living = brokers.map(broker => {
    const known = earlier.get(broker.id)
    return {
      broker,
      upSinceMs: upSince(broker, atMs, known?.upSinceMs ?? null),
      silentSinceMs: broker.silentReason === null ? null : (known?.silentSinceMs ?? atMs),
      goneSinceMs: null,
    }
  })
  const isLiving = (id: number) => brokers.some(broker => broker.id === id)
  const gone = before
    .filter(({ broker }) => !isLiving(broker.id))
    .map(({ broker, goneSinceMs }) => {
      const numbers = { broker: { ...broker, ...UNKNOWN_NUMBERS }, upSinceMs: null, silentSinceMs: null }
      return { ...numbers, goneSinceMs: goneSinceMs ?? atMs }
    })
  return [...living, ...gone].sort((one, other) => one.broker.id - other.broker.id)
}

/** The most by which two answers tell the start of the same broker differently, in ms. */
const JITTER_MS = 5_000

/** The answer tells how long the broker is up, and comes after a while: the start stays as it was told first. */
function upSince({ uptimeMs }: Broker, atMs: number, before: number | null): number | null {
  if (uptimeMs === null) return null
  const startedMs = atMs - uptimeMs
  if (before !== null && Math.abs(startedMs - before) < JITTER_MS) return before
  return Math.round(startedMs / 1_000) * 1_000
}

/** The numbers of a broker that has left: those of its last answer no longer hold. */
const UNKNOWN_NUMBERS = Object.freeze({
  leads: 0,
  uptimeMs: null,
  activeConnections: null,
  backpressureConnections: null,
  pendingBytes: null,
  requestsPerSecond: null,
  requestLatencyMs: null,
  cpuUsage: null,
  memoryBytes: null,
}) satisfies Partial<Broker>

/** Returns the reason why the numbers of a broker are missing, and null for one that answers. */
export function silence({ broker, goneSinceMs }: SeenBroker): string | null {
  if (goneSinceMs !== null) return 'it has stopped, or it cannot reach the store.'
  return broker.silentReason === null ? null : `${broker.silentReason}.`
}

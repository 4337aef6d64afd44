// The scenarios of the simulations: with every safeguard, and with safeguards left out. Each row says which kinds of
// damage must then be found. The brokers use the real log, cluster, coordinators and storage worker.

import type { Scenario } from './cluster.ts'
import { ALL_SAFEGUARDS, type Safeguards } from './replicated-store.ts'
import { SAFE, simulate } from './simulation.ts'
import { SAFE_STORAGE, type StorageScenario, simulateStorage } from './storage-simulation.ts'
import type { Column, Outcome } from './violations.ts'

export interface Row {
  /** The kinds of damage that some hundred seeds must find. If it is empty, no damage is allowed. */
  readonly red: readonly Column[]
  /** True if clients may wait forever: the log is correct, but a broker does not notice what it has lost. */
  readonly mayStall: boolean
  simulate(seed: number, keepsLines?: boolean): Promise<Outcome>
}

const without = (...left: readonly (keyof Safeguards)[]): Safeguards => ({
  ...ALL_SAFEGUARDS,
  ...Object.fromEntries(left.map(name => [name, false])),
})

function row(
  { mayStall = false, ...difference }: Partial<Scenario> & { readonly mayStall?: boolean },
  ...red: readonly Column[]
): Row {
  const scenario = { ...SAFE, ...difference }
  return { red, mayStall, simulate: (seed, keepsLines) => simulate(seed, scenario, keepsLines) }
}

function storage(difference: Partial<StorageScenario>, ...red: readonly Column[]): Row {
  const scenario = { ...SAFE_STORAGE, ...difference }
  return { red, mayStall: false, simulate: (seed, keepsLines) => simulateStorage(seed, scenario, keepsLines) }
}

/** The brokers wait for one of two replicas, and either can be promoted, so acknowledged data can be lost. */
const LOSING: Partial<Scenario> = { replicas: 2, waitReplicas: 1, promotes: 'any' }

/** The same, after a lag in which segments are sealed, and with the brokers that know the end of the log. */
const LOSING_STREAMS: Partial<StorageScenario> = { ...LOSING, keepsAll: false, lagMs: 1_200, cutsPower: true }

export const SCENARIOS: Readonly<Record<string, Row>> = Object.freeze({
  safe: row({}),
  'no-fail-over': row({ failOvers: 0 }),
  'two-replicas': row({ replicas: 2, waitReplicas: 1, promotes: 'best' }),
  'two-replicas-waited-for': row({ replicas: 2, waitReplicas: 2, promotes: 'any' }),
  'no-wait': row({ safeguards: without('wait') }, 'lost'),
  'no-visibility': row({ safeguards: without('visibility') }, 'divergence'),
  // Without attempt ids no damage is allowed: the log still recognizes its append by the batch at the intended offset.
  'no-attempt': row({ safeguards: without('attempt') }),
  'no-attempt-no-place': row({ safeguards: without('attempt', 'place') }, 'duplicate'),
  // If every fail-over is noticed at once, the check of the incarnation replaces the compare.
  'no-compare': row({ silently: false, safeguards: without('compare') }),
  'no-compare-silently': row({ safeguards: without('compare') }, 'skipped'),
  // A producer that only repeats its lost batches makes no append that the compare could refuse.
  'no-incarnation': row({ safeguards: without('incarnation'), mayStall: true }),
  'no-compare-no-incarnation': row({ safeguards: without('compare', 'incarnation') }, 'skipped'),
  'no-floor': row({ safeguards: without('floor') }),
  torn: row({ failOvers: 0, tears: true }),
  'torn-no-sweep': row({ failOvers: 0, tears: true, safeguards: without('sweep') }, 'overlap'),
  losing: row(LOSING, 'lost'),
  'losing-no-floor': row({ ...LOSING, safeguards: without('floor') }, 'divergence'),
  storage: storage({}),
  // A broker that was paused rewrites a part of the log that another one has cleaned since.
  'storage-no-rewrite-epoch': storage({ safeguards: without('rewriteEpoch') }, 'revived'),
  'storage-blind': storage({ comparesOffsets: false }, 'lost'),
  // The streams lose their tail, but not the documents: the sealed offsets are not given again.
  'storage-losing': storage(LOSING_STREAMS),
  'storage-losing-no-floor': storage({ ...LOSING_STREAMS, safeguards: without('namedFloor') }, 'sealed'),
})

// The scenarios of the simulation: every safeguard in force, and each one left out where others do not cover for it.
// Each row says which kinds of damage must then be found. The brokers are the real log, cluster and coordinators.

import { ALL_SAFEGUARDS, type Safeguards } from './replicated-store.ts'
import { type Column, SAFE, type Scenario } from './simulation.ts'

export interface Row extends Scenario {
  /** The kinds of damage that must be found within some hundred seeds. Where it is empty, none may be found. */
  readonly red: readonly Column[]
  /** Clients may wait without end: nothing is wrong in the log, but a broker does not notice what it has lost. */
  readonly mayStall?: true
}

const without = (...left: readonly (keyof Safeguards)[]): Safeguards => ({
  ...ALL_SAFEGUARDS,
  ...Object.fromEntries(left.map(name => [name, false])),
})

const row = (difference: Partial<Row>, ...red: readonly Column[]): Row => ({ ...SAFE, ...difference, red })

/** One replica is waited for, and any of two may be promoted: what is acknowledged can be lost. */
const LOSING: Partial<Scenario> = { replicas: 2, waitReplicas: 1, promotes: 'any' }

export const SCENARIOS: Readonly<Record<string, Row>> = Object.freeze({
  safe: row({}),
  'no-fail-over': row({ failOvers: 0 }),
  'two-replicas': row({ replicas: 2, waitReplicas: 1, promotes: 'best' }),
  'two-replicas-waited-for': row({ replicas: 2, waitReplicas: 2, promotes: 'any' }),
  'no-wait': row({ safeguards: without('wait') }, 'lost'),
  'no-visibility': row({ safeguards: without('visibility') }, 'divergence'),
  // The batch that stands at its place identifies an append as well as its id does.
  'no-attempt': row({ safeguards: without('attempt') }),
  'no-attempt-no-place': row({ safeguards: without('attempt', 'place') }, 'duplicate'),
  // Where every fail-over is noticed at once, the look at the incarnation covers for the compare.
  'no-compare': row({ silently: false, safeguards: without('compare') }),
  'no-compare-silently': row({ safeguards: without('compare') }, 'skipped'),
  // A producer that only repeats what a fail-over took makes no append that could be compared.
  'no-incarnation': row({ safeguards: without('incarnation'), mayStall: true }),
  'no-compare-no-incarnation': row({ safeguards: without('compare', 'incarnation') }, 'skipped'),
  'no-floor': row({ safeguards: without('floor') }),
  torn: row({ failOvers: 0, tears: true }),
  'torn-no-sweep': row({ failOvers: 0, tears: true, safeguards: without('sweep') }, 'overlap'),
  losing: row(LOSING, 'lost'),
  'losing-no-floor': row({ ...LOSING, safeguards: without('floor') }, 'divergence'),
})

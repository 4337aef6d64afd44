// What a simulation may be asked to go through: everything in force, and each safeguard left out where others do not cover for
// it. The study's model (reliability-security.md, 2.3) has the same rows and says which of its columns fill; here the real log,
// cluster and coordinators stand in the place of the model's brokers.

import { ALL_SAFEGUARDS, type Safeguards } from './replicated-store.ts'
import { type Column, SAFE, type Scenario } from './simulation.ts'

export interface Row extends Scenario {
  /** What must be found within so many seeds; nothing may be where it is empty. */
  readonly red: readonly Column[]
}

const without = (...left: readonly (keyof Safeguards)[]): Safeguards => ({
  ...ALL_SAFEGUARDS,
  ...Object.fromEntries(left.map(name => [name, false])),
})

const row = (difference: Partial<Scenario>, ...red: readonly Column[]): Row => ({ ...SAFE, ...difference, red })

/** One replica is waited for, and any of two may be promoted: what is acknowledged can be lost. */
const LOSING: Partial<Scenario> = { replicas: 2, waitReplicas: 1, promotes: 'any' }

export const SCENARIOS: Readonly<Record<string, Row>> = Object.freeze({
  safe: row({}),
  'no-fail-over': row({ failOvers: 0 }),
  'two-replicas': row({ replicas: 2, waitReplicas: 1, promotes: 'best' }),
  'two-replicas-waited-for': row({ replicas: 2, waitReplicas: 2, promotes: 'any' }),
  'no-wait': row({ safeguards: without('wait') }, 'lost'),
  'no-visibility': row({ safeguards: without('visibility') }, 'divergence'),
  // What stands at its place tells an append as well as its id does.
  'no-attempt': row({ safeguards: without('attempt') }),
  'no-attempt-no-place': row({ safeguards: without('attempt', 'place') }, 'duplicate'),
  // Where every fail-over is noticed at once, the look at the incarnation covers for the compare.
  'no-compare': row({ silently: false, safeguards: without('compare') }),
  'no-compare-silently': row({ safeguards: without('compare') }, 'skipped'),
  'no-incarnation': row({ safeguards: without('incarnation') }),
  'no-compare-no-incarnation': row({ safeguards: without('compare', 'incarnation') }, 'skipped'),
  'no-floor': row({ safeguards: without('floor') }),
  torn: row({ failOvers: 0, tears: true }),
  'torn-no-sweep': row({ failOvers: 0, tears: true, safeguards: without('sweep') }, 'divergence'),
  losing: row(LOSING, 'lost'),
  'losing-no-floor': row({ ...LOSING, safeguards: without('floor') }, 'divergence'),
})

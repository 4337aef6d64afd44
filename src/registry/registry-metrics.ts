// The metrics of the registry: what it keeps in memory, how long its threads work, and what it refuses. Requests are
// counted by the HTTP side, verdicts over records by the judge.

import type { Metrics } from '../telemetry/metrics.ts'
import { isRefusal } from './refusals.ts'
import type { RegistryState } from './state/state.ts'
import type { SchemaWork, SchemaWorkOptions } from './work/schema-work.ts'

export type RegistryMetrics = Pick<Metrics, 'count' | 'observe' | 'sample'>

/** Samples what the state keeps. */
export function sampleState(metrics: RegistryMetrics, kept: RegistryState): void {
  metrics.sample('svc.schema_registry.subjects', {}, () => kept.index.size)
  metrics.sample('svc.schema_registry.highest_id', {}, () => kept.counter.known)
  metrics.sample('svc.schema_registry.cache_bytes', { cache: 'list' }, () => kept.index.bytes)
  metrics.sample('svc.schema_registry.cache_bytes', { cache: 'subjects' }, () => kept.subjects.bytes)
  metrics.sample('svc.schema_registry.cache_bytes', { cache: 'schemas' }, () => kept.contents.bytes)
  metrics.sample('svc.schema_registry.cache_bytes', { cache: 'ids' }, () => kept.ids.bytes)
}

/** Samples what the threads' results take. */
export function sampleWork(metrics: RegistryMetrics, work: SchemaWork): void {
  metrics.sample('svc.schema_registry.cache_bytes', { cache: 'work' }, () => work.bytes)
}

/** Returns the observer of the threads' calls. */
export function workObserver(metrics: RegistryMetrics): NonNullable<SchemaWorkOptions['observe']> {
  return (verb, result, ms) => metrics.observe('svc.schema_registry.work', { verb, result }, ms)
}

/** Counts the answer if it is a refusal. */
export function countRefusal(metrics: RegistryMetrics, answer: unknown): void {
  if (isRefusal(answer)) metrics.count('svc.schema_registry.refusals', { code: String(answer.code) })
}

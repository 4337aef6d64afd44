// Checks the metrics that another broker tells of itself. If its memory or its program is broken, a negative, endless
// or repeated number must not come into the sums of the cluster: the broker is named as silent instead. A wrong number
// that is possible passes.

import type { describeBrokerMetrics } from '../protocol/messages/describe-broker-metrics.ts'
import type { describeTopicMetrics } from '../protocol/messages/describe-topic-metrics.ts'
import type { ResponseOf } from '../protocol/schema.ts'
import type { BrokerMetrics } from './metrics.ts'
import { COUNTERS } from './sum-metrics.ts'

/** The members that count things. */
const WHOLE: ReadonlySet<string> = new Set([
  ...COUNTERS,
  'uptimeMs',
  'pendingBytes',
  'memoryBytes',
] satisfies (keyof BrokerMetrics)[])

/** The members that are NaN without a measurement. */
const MEASURED: ReadonlySet<string> = new Set(['p50', 'p95', 'p99'])

/** The members that are a part of 1. */
const SHARES: ReadonlySet<string> = new Set(['cpuUsage'] satisfies (keyof BrokerMetrics)[])

/** The longest name in a sentence. */
const MOST_SHOWN = 249

/** Returns why the answer cannot be right, as the end of a sentence about the broker; null if it can. */
export function wrongInBroker(answer: ResponseOf<typeof describeBrokerMetrics>): string | null {
  return wrongNumberIn(answer)
}

export function wrongInTopics(answer: ResponseOf<typeof describeTopicMetrics>, mostSamples: number): string | null {
  const names = new Set<string>()
  for (const { name, samples } of answer.topics) {
    const shown = JSON.stringify(name.slice(0, MOST_SHOWN))
    if (names.has(name)) return `has told the rates of topic ${shown} twice`
    if (samples.length > mostSamples)
      return `has told ${samples.length} samples of topic ${shown}, and was asked for ${mostSamples}`
    names.add(name)
  }
  return wrongNumberIn(answer)
}

function wrongNumberIn(answer: object): string | null {
  const found = findImpossible(answer, '')
  return found === null ? null : `has told an impossible number: ${found}`
}

/** Returns the first impossible number with its path, and null if there is none. */
function findImpossible(of: object, path: string): string | null {
  if (Array.isArray(of)) {
    for (const each of of) {
      const found = findImpossible(each, path)
      if (found !== null) return found
    }
    return null
  }
  const values = of as Readonly<Record<string, unknown>>
  // Object.entries would allocate for every topic and step.
  for (const key in values) {
    const value = values[key]
    if (typeof value === 'number' && !isPossible(key, value)) return `${path}${key} is ${value}`
    if (typeof value !== 'object' || value === null) continue
    const found = findImpossible(value, `${path}${key}.`)
    if (found !== null) return found
  }
  return null
}

function isPossible(key: string, value: number): boolean {
  if (MEASURED.has(key) && Number.isNaN(value)) return true
  if (WHOLE.has(key) && !Number.isInteger(value)) return false
  return value >= 0 && value <= (SHARES.has(key) ? 1 : Number.MAX_SAFE_INTEGER)
}

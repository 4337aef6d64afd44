// The rows of the page Topics. Names, partitions and sizes come from the list of topics, rates from the metrics. The
// one that knows the chosen order is asked first. The other one is asked for the names on that page, which do not wait.

import { useMemo, useRef } from 'react'
import { isListed, pageOfTopics, TOPICS_AT_ONCE } from '../../../src/api/first-reads.ts'
import type { SearchOf } from '../../../src/api/pages.ts'
import type { Answer } from '../../api/contract.ts'
import type { Problem } from '../../api/problem.ts'
import { type Read, useRead } from '../../api/queries.ts'
import { useSettled } from '../../parts/settled.ts'
import { newestOf } from './last-hour.ts'

/** While somebody types, the rates wait until the names have rested for this time in ms. */
const RATES_REST_MS = 120
/** The most characters of the names in one request. src/api/query.ts allows 24 KiB. */
const LONGEST_NAMES = 16 * 1024

type Metrics = Answer<'read topic metrics'>

export interface TopicRow {
  readonly name: string
  /** Undefined until it came, and if it does not come. */
  readonly summary: Answer<'list topics'>['topics'][number] | undefined
  readonly rates: Metrics['topics'][number] | undefined
}

interface TopicPage {
  readonly rows: readonly TopicRow[]
  /** The number of topics on all pages. */
  readonly total: number
}

export interface TopicRows {
  /** The page in the chosen order. Until it came, `data` is the page before and `isOld` is true. */
  readonly read: Read<TopicPage>
  /** Why the other numbers are missing; null if they are not. */
  readonly secondProblem: Problem | null
  retrySecond(): void
  readonly silent: Metrics['unavailableBrokers']
  /** The end of the newest step of the rates, in ms since 1970; 0 if unknown. */
  readonly newestMs: number
}

const METRICS = { scope: 'cluster', samples: 'true' } as const

export function useTopicRows(search: SearchOf<'topics'>): TopicRows {
  const { sort } = search
  const page = pageOfTopics(search)
  const isByRate = !isListed(sort)
  const ranked = useRead('read topic metrics', { query: { ...METRICS, ...page } }, { isWanted: isByRate })
  const listed = useRead('list topics', { query: page }, { isWanted: !isByRate })
  const first = isByRate ? ranked : listed
  const names = useMemo(() => first.data?.topics.map(({ name }: { readonly name: string }) => name) ?? [], [first.data])
  const [some, others] = useSettled(inTwo(names), RATES_REST_MS).split('\n')
  const limit = TOPICS_AT_ONCE
  const ask = (given: string | undefined) => ({ query: { names: given, limit } })
  const askRates = (given: string | undefined) => ({ query: { ...METRICS, names: given, limit } })
  const isPart = (given: string | undefined) => given !== undefined && given !== ''
  const rates = useRead('read topic metrics', askRates(some), { isWanted: !isByRate && isPart(some) })
  const moreRates = useRead('read topic metrics', askRates(others), { isWanted: !isByRate && isPart(others) })
  const summaries = useRead('list topics', ask(some), { isWanted: isByRate && isPart(some) })
  const moreSummaries = useRead('list topics', ask(others), { isWanted: isByRate && isPart(others) })

  const metrics = useMemo(
    () => (isByRate ? [ranked.data] : [rates.data, moreRates.data]),
    [isByRate, ranked.data, rates.data, moreRates.data],
  )
  const lists = useMemo(
    () => (isByRate ? [summaries.data, moreSummaries.data] : [listed.data]),
    [isByRate, listed.data, summaries.data, moreSummaries.data],
  )
  // The table draws only those rows again that are other ones.
  const { rows, newestMs } = useMemo(() => {
    const ratesOf = new Map(metrics.flatMap(answer => answer?.topics ?? []).map(each => [each.name, each]))
    const summaryOf = new Map(lists.flatMap(answer => answer?.topics ?? []).map(each => [each.name, each]))
    return {
      rows: names.map(name => ({ name, summary: summaryOf.get(name), rates: ratesOf.get(name) })),
      newestMs: newestOf([...ratesOf.values()]),
    }
  }, [names, metrics, lists])

  // Another order is another read, but the page before stays until it has answered.
  const last = useRef<TopicPage>(undefined)
  if (first.data !== undefined) last.current = { rows, total: first.data.total }
  else if (first.problem !== null) last.current = undefined
  const second = (isByRate ? [summaries, moreSummaries] : [rates, moreRates]).find(({ problem }) => problem !== null)
  return {
    read: { ...first, data: last.current, isOld: first.isOld || first.data === undefined },
    secondProblem: second?.problem ?? null,
    retrySecond: () => second?.retry(),
    silent: metrics.find(answer => answer !== undefined)?.unavailableBrokers ?? [],
    newestMs,
  }
}

/** Returns the names, separated by commas, in two lines if they are too long for one request. */
function inTwo(names: readonly string[]): string {
  const all = names.join(',')
  if (all.length <= LONGEST_NAMES) return all
  const half = Math.ceil(names.length / 2)
  return `${names.slice(0, half).join(',')}\n${names.slice(half).join(',')}`
}

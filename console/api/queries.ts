// How components read and change things: hooks on the client, with one table of how often each answer is asked for
// again. Nothing is asked for while the page is hidden or its updates are paused.

import { keepPreviousData, QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { usePreference } from '../shell/preferences.ts'
import { ask, type Operation } from './client.ts'
import type { Answer, Asked, Contract } from './contract.ts'
import { operations } from './operations.ts'
import { asProblem, Problem } from './problem.ts'

/** The step of the broker's history: rates do not change faster. */
const STEP_MS = 15_000

/**
 * How often a visible answer is asked for again, in ms. An operation that is not here is asked on demand and on focus.
 */
const EVERY_MS: Readonly<Partial<Record<keyof Contract, number>>> = {
  'read metrics': STEP_MS,
  'read metrics history': STEP_MS,
  'read topic metrics': STEP_MS,
  'read consumer lag': STEP_MS,
  'list groups': STEP_MS,
  'describe group': STEP_MS,
  'list topics': 30_000,
  'describe topic': STEP_MS,
  'describe schema registry': 30_000,
  'list schema subjects': 30_000,
  'describe schema subject': STEP_MS,
  'list judged topics': STEP_MS,
  'show judged topic': STEP_MS,
  'list brokers': STEP_MS,
  'show storage': 30_000,
  'show storage worker': 10_000,
  'list segments of partition': 30_000,
  'show remote storage': STEP_MS,
  'read storage stats': STEP_MS,
  'list offload jobs': STEP_MS,
  'show agent tools': STEP_MS,
  'show health in full': 10_000,
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // An answer that did not come in its time would keep the user waiting for twice that time without a word.
      retry: (failures, error) =>
        failures < 1 && error instanceof Problem && error.isAway && error.code !== 'NO_ANSWER',
      retryDelay: 1_000,
      staleTime: 2_000,
      gcTime: 300_000,
      networkMode: 'always',
    },
    // A password that was sent must not stay in memory.
    mutations: { networkMode: 'always', gcTime: 0 },
  },
})

export interface Read<T> {
  /** The newest answer, also while a newer one failed; undefined before the first. */
  readonly data: T | undefined
  /** Why the newest attempt failed; null if it did not. */
  readonly problem: Problem | null
  /** When `data` came, in ms since 1970; 0 before. */
  readonly atMs: number
  /** True while no answer and no problem is there yet. */
  readonly isFirst: boolean
  /** True while `data` belongs to another page or filter of the same list. */
  readonly isOld: boolean
  readonly isFetching: boolean
  /** Asks again for everything on the page that failed. */
  retry(): void
}

interface ReadOptions {
  /** False asks nothing. */
  readonly isWanted?: boolean
  /** In ms; by default that of the table. 0 asks once. */
  readonly everyMs?: number
}

function reading<Name extends keyof Contract>(name: Name, asked: Asked<Name>) {
  return {
    queryKey: [name, asked],
    // A query must not be undefined; an answer without a body is null.
    queryFn: async ({ signal }: { readonly signal: AbortSignal }) => (await ask(name, asked, { signal })) ?? null,
  }
}

/** Asks for an answer that a component will read in a moment. Resolves also if it fails: the component asks again. */
export function readAhead<Name extends keyof Contract>(name: Name, asked: Asked<Name>): Promise<void> {
  return queryClient.prefetchQuery(reading(name, asked))
}

/** Asks again for everything on the page that failed: the cause of one failure is often that of the others. */
export function tryAgain(): void {
  const hasFailed = ({ state }: { readonly state: { readonly error: unknown } }) => state.error !== null
  void queryClient.refetchQueries({ type: 'active', predicate: hasFailed }, { cancelRefetch: false })
}

/** Reads an operation and keeps its answer up to date while the component is on the page. */
export function useRead<Name extends keyof Contract>(
  name: Name,
  asked: Asked<Name>,
  { isWanted = true, everyMs = EVERY_MS[name] ?? 0 }: ReadOptions = {},
): Read<Answer<Name>> {
  const [isPaused] = usePreference('isPaused')
  const result = useQuery({
    ...reading(name, asked),
    enabled: isWanted,
    refetchInterval: isPaused || everyMs === 0 ? false : everyMs,
    refetchOnWindowFocus: !isPaused,
    placeholderData: keepPreviousData,
  })
  // While a read without an answer is tried again, the library forgets why it failed. The page still shows it.
  const failed = useRef<{ readonly key: string; readonly problem: Problem } | null>(null)
  const key = JSON.stringify([name, asked])
  if (result.error !== null) failed.current = { key, problem: asProblem(result.error) }
  else if (failed.current?.key !== key || result.dataUpdatedAt > 0) failed.current = null
  const problem = failed.current?.problem ?? null
  const isWithout = problem !== null && result.dataUpdatedAt === 0
  return {
    data: isWithout ? undefined : ((result.data ?? undefined) as Answer<Name> | undefined),
    problem,
    atMs: result.dataUpdatedAt,
    isFirst: result.isPending && problem === null,
    isOld: result.isPlaceholderData,
    isFetching: result.isFetching,
    retry: tryAgain,
  }
}

export interface Change<Name extends keyof Contract> {
  /** Resolves to the answer in an object; null if the broker refused, and `problem` says why. */
  run(asked: Asked<Name>): Promise<{ readonly answer: Answer<Name> } | null>
  readonly isBusy: boolean
  readonly problem: Problem | null
  /** Forgets the problem. */
  clear(): void
}

interface ChangeOptions {
  /** False leaves the page as it is: it is left, because the change has deleted its thing. */
  readonly isShown?: boolean
}

/**
 * Returns whether an answer is asked for again after a change. A page may make a read of several requests, which has a
 * name of its own. The check of a draft (`validateOnly`) is not repeated: the change has just used the draft.
 */
function isRead({ queryKey: [name] }: { readonly queryKey: readonly unknown[] }): boolean {
  return !Object.hasOwn(operations, String(name)) || operations[name as Operation].method === 'GET'
}

/** Returns a change. When it succeeded, everything that is on the page is asked for again. */
export function useChange<Name extends keyof Contract>(
  name: Name,
  { isShown = true }: ChangeOptions = {},
): Change<Name> {
  const client = useQueryClient()
  const mutation = useMutation({
    mutationFn: (asked: Asked<Name>) => ask(name, asked),
    onSuccess: () => void client.invalidateQueries({ predicate: isRead, refetchType: isShown ? 'active' : 'none' }),
  })
  return {
    async run(asked) {
      try {
        return { answer: await mutation.mutateAsync(asked) }
      } catch {
        // `problem` has it.
        return null
      }
    },
    isBusy: mutation.isPending,
    problem: mutation.error === null ? null : asProblem(mutation.error),
    clear: () => mutation.reset(),
  }
}

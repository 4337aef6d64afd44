// Lists the test files and decides when each runs and in which order. The name of a file says when it runs. The
// timings of an earlier run say how long it takes and how much of a processor it uses. This file runs no test.
//
//   name.test.ts          unit: the inner loop, in a few processes. No server, no waiting.
//   name.longer.test.ts   `npm test`: real parts, waiting, or much computing; a process of its own
//   name.stores.test.ts   `npm test` on the embedded store; with --all also on Redis and on a Redis Cluster
//   name.all.test.ts      only `npm test -- --all`

import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const STAGES = ['unit', 'longer', 'stores', 'all'] as const
export type Stage = (typeof STAGES)[number]

/** Returns the stage in the name of a test file; null if the name has an unknown stage or is not a test's. */
export function stageOf(file: string): Stage | null {
  const match = /(?:\.([a-z0-9]+))?\.test\.ts$/.exec(file)
  if (match === null) return null
  const [, stage = 'unit'] = match
  return STAGES.find(each => each === stage) ?? null
}

/**
 * Returns every test file of these folders with its stage, as repository paths. Throws if a name has an unknown
 * stage.
 */
export function listTestFiles(root: string): readonly { readonly file: string; readonly stage: Stage }[] {
  const files = globSync('{src,testing,scripts,e2e,console}/**/*.test.ts', {
    cwd: root,
    exclude: ['console/node_modules/**'],
  }).sort()
  return files.map(file => {
    const stage = stageOf(file)
    if (stage === null)
      throw new Error(`${file}: a test file is called name.test.ts or name.{longer,stores,all}.test.ts`)
    return { file, stage }
  })
}

/** One test file that runs in a process of its own, with the store that it runs on. */
export interface Job {
  readonly file: string
  /** The store for testing/chosen-store.ts; null for the embedded store, or if the test does not choose a store. */
  readonly store: 'redis' | 'redis-cluster' | null
}

export const nameOf = ({ file, store }: Job) => (store === null ? file : `${file} on ${store}`)

/** For each job: the seconds that it took, and the CPU seconds of its process and all that it started. */
export type Timings = ReadonlyMap<string, { readonly seconds: number; readonly busySeconds: number }>

/** The share of one processor that a job without timings is expected to use. */
const UNKNOWN_SHARE = 0.5

/** A job with the number of processors that it keeps busy on average, as an earlier run measured it. */
export interface Planned {
  readonly job: Job
  readonly share: number
}

/** Returns the jobs with their shares, the longest first. A job without timings counts as the longest. */
export function plan(jobs: readonly Job[], timings: Timings): readonly Planned[] {
  const secondsOf = (job: Job) => timings.get(nameOf(job))?.seconds ?? Number.POSITIVE_INFINITY
  const shareOf = (job: Job) => {
    const timing = timings.get(nameOf(job))
    return timing === undefined || timing.seconds === 0 ? UNKNOWN_SHARE : timing.busySeconds / timing.seconds
  }
  return jobs
    .toSorted((a, b) => secondsOf(b) - secondsOf(a) || (nameOf(a) < nameOf(b) ? -1 : 1))
    .map(job => ({ job, share: shareOf(job) }))
}

/**
 * Returns the index of the job that starts next beside the running ones: the first that the processors still have time
 * for. With nothing running, that is the first job. Returns -1 if no job fits.
 */
export function nextOf(waiting: readonly Planned[], running: readonly Planned[], processors: number): number {
  if (running.length === 0) return waiting.length === 0 ? -1 : 0
  const free = processors - running.reduce((sum, { share }) => sum + share, 0)
  return waiting.findIndex(({ share }) => share <= free)
}

/** Returns the jobs of `npm test`, or with `all` of `npm test -- --all`, without the unit tests. */
export function jobsOf(
  files: readonly { readonly file: string; readonly stage: Stage }[],
  all: boolean,
): readonly Job[] {
  return files.flatMap(({ file, stage }): Job[] => {
    if (stage === 'unit' || (stage === 'all' && !all)) return []
    const here: Job = { file, store: null }
    if (stage !== 'stores' || !all) return [here]
    return [here, { file, store: 'redis' }, { file, store: 'redis-cluster' }]
  })
}

const timingsFile = (root: string) => join(root, 'scripts/test-timings.json')

/** Returns the timings that an earlier run recorded. */
export function readTimings(root: string): Timings {
  const rows = JSON.parse(readFileSync(timingsFile(root), 'utf8')) as Record<string, [number, number]>
  return new Map(Object.entries(rows).map(([name, [seconds, busySeconds]]) => [name, { seconds, busySeconds }]))
}

/** Writes the timings to the file, one line each. */
export function keepTimings(root: string, timings: Timings): void {
  const lines = [...timings]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([name, { seconds, busySeconds }]) =>
        `  ${JSON.stringify(name)}: [${seconds.toFixed(1)}, ${busySeconds.toFixed(1)}]`,
    )
  writeFileSync(timingsFile(root), `{\n${lines.join(',\n')}\n}\n`)
}

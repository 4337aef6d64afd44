// Lists the test files and decides when each runs and in which order. The name of a file says when it runs. The
// timings of an earlier run say how long it takes and whether it computes or waits. This file runs no test.
//
//   name.test.ts          unit: the inner loop, in one process. No server, no waiting.
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

/** For each job: the seconds that it took, and the CPU seconds of its process and of all ended child processes. */
export type Timings = ReadonlyMap<string, { readonly seconds: number; readonly busySeconds: number }>

/** A job computes if it keeps a processor busy for more than this share of its time; the other jobs wait. */
const COMPUTING_SHARE = 0.5

export interface Lanes {
  readonly computing: readonly Job[]
  readonly waiting: readonly Job[]
}

/** Divides the jobs into two lanes, the longest first. A job without timings counts as the longest and as computing. */
export function divide(jobs: readonly Job[], timings: Timings): Lanes {
  const secondsOf = (job: Job) => timings.get(nameOf(job))?.seconds ?? Number.POSITIVE_INFINITY
  const isComputing = (job: Job) => {
    const timing = timings.get(nameOf(job))
    return timing === undefined || timing.busySeconds > COMPUTING_SHARE * timing.seconds
  }
  const ordered = jobs.toSorted((a, b) => secondsOf(b) - secondsOf(a) || (nameOf(a) < nameOf(b) ? -1 : 1))
  return { computing: ordered.filter(isComputing), waiting: ordered.filter(job => !isComputing(job)) }
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

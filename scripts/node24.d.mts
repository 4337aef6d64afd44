// The part of node24.mjs that TypeScript may use. node24.mjs is plain JavaScript because it runs before TypeScript
// can run.

import type { SpawnSyncOptions, SpawnSyncReturns } from 'node:child_process'

export const NODE_FLAGS: readonly string[]
export const NODE_ENVIRONMENT: Readonly<Record<string, string>>
export const root: string
export function missingPackages(folder: string, options: { dev: boolean }): readonly unknown[]
export function installing(options: { dev: boolean }): readonly string[]
export function runNpm(
  folder: string,
  args: readonly string[],
  options: SpawnSyncOptions & { encoding: 'utf8' },
): SpawnSyncReturns<string>

// The types of console-build.mjs, which is plain JavaScript because it runs before TypeScript can run.

export const consoleFolder: string
export const builtFolder: string
export const SHARED: readonly string[]
export function stampOfSources(): string | null
export function stampOfBuild(): string | null
export function isConsoleBuilt(): boolean

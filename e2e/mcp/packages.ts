// The foreign clients of the agent tools, with their versions, and where build.ts puts them.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from '../../testing/cache.ts'

export const SDK_VERSION = '1.32.2'
export const INSPECTOR_VERSION = '2.12.0'
export const CONFORMANCE_VERSION = '0.2.0-alpha.12'
export const PACKAGES = [
  `@modelcontextprotocol/sdk@${SDK_VERSION}`,
  `@modelcontextprotocol/inspector@${INSPECTOR_VERSION}`,
  `@modelcontextprotocol/conformance@${CONFORMANCE_VERSION}`,
]
export const FOLDER = join(CACHE, `mcp-${SDK_VERSION}-${INSPECTOR_VERSION}-${CONFORMANCE_VERSION}`)
/** build.ts writes it last. */
export const FINISHED = join(FOLDER, 'finished')

/** Returns why the clients are absent, or null. */
export function absenceOf(): string | null {
  return existsSync(FINISHED) ? null : 'SKIPPED e2e/mcp: node scripts/run.mjs e2e/mcp/build.ts'
}

/** The programs of the packages. */
export const INSPECTOR = join(FOLDER, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js')
export const CONFORMANCE = join(FOLDER, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

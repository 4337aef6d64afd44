// Judges from PyPI, in one virtual environment in the cache. `node scripts/run.mjs e2e/http/build.ts` makes it and
// needs python3 with its venv module. Schemathesis makes requests from the OpenAPI document and checks every response
// with it; prometheus-client has the reference parser of OpenMetrics.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from '../../testing/cache.ts'

export const PACKAGES = ['schemathesis==4.32.5', 'prometheus-client==0.26.0']

/** Other versions have another folder. */
export const FOLDER = join(CACHE, PACKAGES.join('+'))

export const SCHEMATHESIS = `${FOLDER}/bin/schemathesis`
export const PYTHON = `${FOLDER}/bin/python`

/** Returns the reason why a test cannot use the judges; null if they are installed. */
export function judgesAbsence(what: string): string | null {
  return existsSync(SCHEMATHESIS) ? null : `SKIPPED e2e/http ${what}: node scripts/run.mjs e2e/http/build.ts`
}

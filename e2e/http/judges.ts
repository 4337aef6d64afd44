// Judges from PyPI, in one virtual environment in the cache, which `node scripts/run.mjs e2e/http/build.ts` makes: it
// wants python3 with its venv module. Schemathesis makes requests of its own from the OpenAPI document and holds every
// answer against it; prometheus-client has the reference reader of OpenMetrics.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from '../../testing/cache.ts'

export const PACKAGES = ['schemathesis==4.32.5', 'prometheus-client==0.26.0']

/** Other versions are another folder. */
export const FOLDER = join(CACHE, PACKAGES.join('+'))

export const SCHEMATHESIS = `${FOLDER}/bin/schemathesis`
export const PYTHON = `${FOLDER}/bin/python`

/** Why a test cannot ask them; null when they are there. */
export function judgesAbsence(what: string): string | null {
  return existsSync(SCHEMATHESIS) ? null : `SKIPPED e2e/http ${what}: node scripts/run.mjs e2e/http/build.ts`
}

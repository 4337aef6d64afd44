// Schemathesis (PyPI), which makes requests of its own from the OpenAPI document and holds every answer against it. It lives in a
// virtual environment under .cache/, which `node scripts/run.mjs e2e/http/build.ts` makes: it wants python3 with its venv module.

import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const VERSION = '4.32.5'

/** Another version is another folder. */
export const FOLDER = fileURLToPath(new URL(`../../.cache/schemathesis-${VERSION}`, import.meta.url))

export const PROGRAM = `${FOLDER}/bin/schemathesis`

export function schemathesisAbsence(): string | null {
  return existsSync(PROGRAM) ? null : 'SKIPPED e2e/http schemathesis: node scripts/run.mjs e2e/http/build.ts'
}

// Stores the results of a suite with clients and tools as docs/compatibility/<name>.json. scripts/docs.ts writes
// docs/compatibility.md from all of them, so a suite decides its text and never edits the page.

import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Provenance, provenance } from './provenance.ts'

export const RESULTS_FOLDER = fileURLToPath(new URL('../docs/compatibility', import.meta.url))

/** One section of the page. Texts and cells are Markdown. */
export interface Findings {
  readonly title: string
  /** The position of the section on the page: a smaller number is higher. */
  readonly order: number
  /** The command that repeats the run. */
  readonly command: string
  /** Paragraphs that say what ran, and the outcome in one sentence (`74 of 80 passed`). */
  readonly text: readonly string[]
  readonly tables: readonly Table[]
}

export interface Table {
  /** A line above the table; null when the paragraphs introduce it. */
  readonly caption: string | null
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export type CompatibilityResult = Findings & Provenance

/**
 * Stores the findings of this run and replaces those of an earlier run with the same name. `npm run docs` then writes
 * the page.
 */
export function keepFindings(name: string, findings: Findings): void {
  const result: CompatibilityResult = { ...findings, ...provenance() }
  mkdirSync(RESULTS_FOLDER, { recursive: true })
  writeFileSync(`${RESULTS_FOLDER}/${name}.json`, `${JSON.stringify(result, null, 2)}\n`)
}

// Renders docs/compatibility.md from the results that the suites store in docs/compatibility.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CompatibilityResult, RESULTS_FOLDER, type Table } from '../testing/compatibility.ts'
import { code, plain, table } from './markdown.ts'

/** Returns the page. Throws if a result lacks a field, or a sentence with the outcome. */
export function compatibilityPage(): string {
  const results = globSync('*.json', { cwd: RESULTS_FOLDER }).map(readResult)
  results.sort((a, b) => a.order - b.order || (a.title < b.title ? -1 : 1))
  return `<!-- Written by scripts/docs.ts from docs/compatibility/*.json. Run the suites. -->

# Compatibility

Ketch was run with these clients, tools and test suites of others. Each section below has the date, the commit, the
command, and the tests that did not pass.

${summary(results)}

${results.map(section).join('\n')}`
}

function readResult(file: string): CompatibilityResult {
  const result: CompatibilityResult = JSON.parse(readFileSync(join(RESULTS_FOLDER, file), 'utf8'))
  const { title, order, command, text, tables, at, commit, machine } = result
  for (const [name, value] of Object.entries({ title, order, command, text, tables, at, commit, machine })) {
    if (value === undefined) throw new Error(`docs/compatibility/${file} has no "${name}"`)
  }
  return result
}

/** Returns a table with a row for each result: the sentence of its text that says the outcome. */
function summary(results: readonly CompatibilityResult[]): string {
  const rows = results.map(result => {
    const anchor = result.title
      .toLowerCase()
      .replace(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-')
    return [`[${result.title}](#${anchor})`, outcomeOf(result), result.at.slice(0, 10)]
  })
  return table(['run', 'outcome', 'on'], rows)
}

function outcomeOf({ title, text }: CompatibilityResult): string {
  const sentences = text.flatMap(paragraph => paragraph.split(/(?<=\.)\s+(?=[A-Z0-9])/))
  const outcome = sentences.findLast(sentence => /passed|the same|found nothing/.test(sentence))
  if (outcome === undefined) throw new Error(`no sentence of "${title}" says the outcome`)
  return outcome
}

function section({ title, command, text, tables, at, commit, machine }: CompatibilityResult): string {
  const run = `${code(command)}, ${at.slice(0, 10)}, commit ${commit}; ${plain(machine.cpu)}, ${machine.cores} cores, ${machine.memoryGB} GB, Node ${machine.node}.`
  return `## ${title}\n\n${[run, ...text, ...tables.map(captioned)].join('\n\n')}\n`
}

function captioned({ caption, head, rows }: Table): string {
  const cell = (text: string) => text.replaceAll('\n', '<br>').replace(/(?<!\\)\|/g, '\\|')
  const body = table(
    head.map(cell),
    rows.map(row => row.map(cell)),
  )
  return caption === null ? body : `${caption}\n\n${body}`
}

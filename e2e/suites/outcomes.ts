// The results of a foreign suite for each of its tests. They are kept between runs, so that a suite can be run in
// slices, and are shown in docs/compatibility.md. A test that does not pass needs a reason: the `reasons` of the
// suite say whose limit it is, and why. A test without a reason counts as our bug.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CACHE } from '../../testing/cache.ts'
import { type Findings, keepFindings } from '../../testing/compatibility.ts'

export interface Outcome {
  readonly name: string
  readonly result: 'passed' | 'failed' | 'skipped'
  readonly seconds: number
  /** The suite's own message about the result; empty for a test that passed. */
  readonly detail: string
}

/** Whose limit it is if a test does not pass. */
export type Fault =
  | 'needs TLS, SASL or ACLs'
  | 'needs transactions'
  | 'needs share groups'
  | 'needs several brokers'
  | 'the suite'
  | 'chosen'
  | 'ours'

export interface Reason {
  readonly fault: Fault
  readonly why: string
}

/** Outcomes by their slice (a test number, a file). */
export type Slices = Record<string, readonly Outcome[]>

const fileOf = (suite: string) => join(CACHE, 'suites', `${suite}.json`)

/** Returns the results of earlier runs; empty if there was no run. */
export function earlierSlices(suite: string): Slices {
  try {
    return JSON.parse(readFileSync(fileOf(suite), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

export function keepSlices(suite: string, slices: Slices): void {
  mkdirSync(dirname(fileOf(suite)), { recursive: true })
  writeFileSync(fileOf(suite), `${JSON.stringify(slices, null, 1)}\n`)
}

/** Returns one line for the terminal. */
export function lineOf({ name, result, seconds, detail }: Outcome): string {
  const sign = { passed: '✔', failed: '✖', skipped: '·' }[result]
  return `${sign} ${name} ${seconds.toFixed(1)} s ${detail.slice(0, 300)}`.trimEnd()
}

/** Writes the suite's section of docs/compatibility.md, and prints which reasons are missing or no longer needed. */
export function tell(
  suite: string,
  outcomes: readonly Outcome[],
  reasonFor: (outcome: Outcome) => Reason | null,
  section: Omit<Findings, 'tables'>,
): void {
  const passed = outcomes.filter(({ result }) => result === 'passed')
  const rest = outcomes
    .filter(({ result }) => result !== 'passed')
    .map(outcome => ({ outcome, reason: reasonFor(outcome) ?? { fault: 'ours', why: outcome.detail } }) as const)
  for (const outcome of passed)
    if (reasonFor(outcome) !== null) console.log(`passes, so drop its reason: ${outcome.name}`)
  const byFault = Map.groupBy(rest, ({ reason }) => reason.fault)
  const counts = [...byFault].map(([fault, group]) => `${fault} ${group.length}`).sort()
  const unsecured = outcomes.length - (byFault.get('needs TLS, SASL or ACLs')?.length ?? 0)
  const percent = ((100 * passed.length) / unsecured).toFixed(0)
  const summary = `${passed.length} of ${outcomes.length} passed; of the ${unsecured} that need no TLS, SASL or ACLs, ${percent} %. The others: ${counts.join(', ') || 'none'}.`
  console.log(summary)
  for (const { outcome, reason } of rest) if (reason.fault === 'ours') console.log(`OURS ${lineOf(outcome)}`)
  keepFindings(suite, {
    ...section,
    text: [
      ...section.text,
      'If the suite ran in slices, the date and the commit are those of the last slice.',
      summary,
    ],
    tables: [
      {
        caption: 'Not passed, and whose limit it is:',
        head: ['test', 'result', 'whose', 'why'],
        rows: rest.map(({ outcome, reason }) => [outcome.name, outcome.result, reason.fault, reason.why]),
      },
      {
        caption: 'Passed:',
        head: ['test or file', 'passed', 'seconds'],
        rows: [...Map.groupBy(passed, ({ name }) => name.split(': ')[0]!)].map(([name, group]) => [
          name,
          String(group.length),
          group.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(1),
        ]),
      },
    ],
  })
}

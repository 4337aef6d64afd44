// `npm run audit`: asks the registry for known vulnerabilities of the packages that a broker runs with. A
// vulnerability of high or critical level fails the run; lower ones are listed. If the registry does not answer, or
// does not offer this service, the run does not fail, and the last line says that the audit was not made.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const FAILING: readonly string[] = ['high', 'critical']

/** The used part of the output of `npm audit --json`: a report, or the reason why the registry gave no report. */
interface Printed {
  readonly auditReportVersion?: number
  readonly vulnerabilities?: Readonly<Record<string, Vulnerable>>
  readonly message?: string
}

interface Vulnerable {
  readonly severity: string
  readonly range: string
  /** An advisory, or the name of the package through which this one is vulnerable. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[]
}

function line(name: string, { severity, range, via }: Vulnerable): string {
  const why = via.map(each => (typeof each === 'string' ? `through ${each}` : `${each.title}, ${each.url}`))
  return `${severity}: ${name} ${range}: ${why.join('; ')}`
}

const { stdout, stderr, error } = spawnSync('npm', ['audit', '--omit=dev', '--json', '--fetch-retries=1'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  encoding: 'utf8',
})
if (error !== undefined) throw error
const { auditReportVersion, vulnerabilities = {}, message } = JSON.parse(stdout) as Printed
if (auditReportVersion !== undefined) {
  const found = Object.entries(vulnerabilities)
  for (const [name, vulnerable] of found) console.log(line(name, vulnerable))
  const failing = found.filter(([, { severity }]) => FAILING.includes(severity))
  console.log(`audit: ${found.length} vulnerable packages, ${failing.length} of them ${FAILING.join(' or ')}`)
  process.exitCode = failing.length > 0 ? 1 : 0
} else if (message !== undefined) {
  console.log(`AUDIT NOT MADE, the registry did not answer: ${message}`)
} else {
  console.error(`npm audit printed no report:\n${stdout}${stderr}`)
  process.exitCode = 1
}

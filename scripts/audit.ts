// `npm run audit`: asks the registry for known vulnerabilities of the packages that a broker runs with, and of those of
// the console that a browser gets. A vulnerability of high or critical level fails the run; lower ones are listed. If
// the registry does not answer, or does not offer this service, the run does not fail, and the last line says that the
// audit was not made.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundledPackages } from './packages.ts'

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

/** Returns what npm printed about the packages of this folder. Throws if it printed no report. */
function audit(folder: string): Printed {
  const args = ['audit', '--omit=dev', '--json', '--fetch-retries=1']
  const cwd = fileURLToPath(new URL(`../${folder}`, import.meta.url))
  const { stdout, stderr, error } = spawnSync('npm', args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw error
  const printed = JSON.parse(stdout) as Printed
  if (printed.auditReportVersion === undefined && printed.message === undefined)
    throw new Error(`npm audit printed no report:\n${stdout}${stderr}`)
  return printed
}

const lock = JSON.parse(readFileSync(new URL('../console/package-lock.json', import.meta.url), 'utf8'))
const bundled = bundledPackages(lock.packages)
const [broker, web] = ['', 'console'].map(audit) as [Printed, Printed]
const silent = [broker, web].find(({ auditReportVersion }) => auditReportVersion === undefined)
if (silent === undefined) {
  const ofConsole = Object.entries(web.vulnerabilities ?? {}).filter(([name]) => bundled.has(`node_modules/${name}`))
  const found = [...Object.entries(broker.vulnerabilities ?? {}), ...ofConsole]
  for (const [name, vulnerable] of found) console.log(line(name, vulnerable))
  const failing = found.filter(([, { severity }]) => FAILING.includes(severity))
  console.log(`audit: ${found.length} vulnerable packages, ${failing.length} of them ${FAILING.join(' or ')}`)
  process.exitCode = failing.length > 0 ? 1 : 0
} else console.log(`AUDIT NOT MADE, the registry did not answer: ${silent.message}`)

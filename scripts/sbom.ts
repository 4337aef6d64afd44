// `npm run --silent sbom`: the bill of materials of a release, CycloneDX in JSON: Ketch and every package that a broker
// runs with, of whatever platform, each with its licence and hash. It is npm's own, from package-lock.json, without
// asking anybody. Only what is left out is decided here: npm's `--omit dev` also loses what a broker shares with the
// tools of its developers.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The used part of CycloneDX 1.5; the rest is passed on. */
interface Bill {
  readonly metadata: { readonly component: Readonly<Record<string, unknown>> }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

interface Component {
  readonly 'bom-ref': string
  readonly properties: readonly { readonly name: string; readonly value: string }[]
}

const isForDevelopers = ({ properties }: Component) =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')

const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
const root = new URL('..', import.meta.url)
const printed = execFileSync('npm', args, { cwd: fileURLToPath(root), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
const bill = JSON.parse(printed) as Bill
const dropped = new Set(bill.components.filter(isForDevelopers).map(each => each['bom-ref']))
const { name } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { name: string }
console.log(
  JSON.stringify(
    {
      ...bill,
      // npm takes the folder's name.
      metadata: { ...bill.metadata, component: { ...bill.metadata.component, name } },
      components: bill.components.filter(each => !dropped.has(each['bom-ref'])),
      dependencies: bill.dependencies
        .filter(({ ref }) => !dropped.has(ref))
        .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(each => !dropped.has(each)) })),
    },
    null,
    2,
  ),
)

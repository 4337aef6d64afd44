// `npm run --silent sbom`: prints the bill of materials of a release (CycloneDX, JSON). It names Ketch and every
// package that a broker runs with, for all platforms, each with its licence and hash. npm makes it from
// package-lock.json without a request to the registry. This program only removes the packages for developers: npm's
// `--omit dev` would also remove packages that a broker shares with the developers' tools.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The used part of CycloneDX 1.5; the rest is printed unchanged. */
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
      // npm writes the folder's name; this writes the package's name.
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

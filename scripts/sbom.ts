// `npm run --silent sbom`: prints the bill of materials of a release (CycloneDX, JSON). It names Ketch, every
// package that a broker runs with, for all platforms, and every package of the console that a browser gets, each with
// its licence and hash. npm makes it from the lockfiles without a request to the registry. This program only removes
// the packages for developers, and those that build the console: npm's `--omit dev` would also remove packages that a
// broker shares with the developers' tools.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundledPackages } from './packages.ts'

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

const root = new URL('..', import.meta.url)
const ofConsole = new URL('console/', root)

/** Returns npm's bill of the packages of this folder that are kept. */
function billOf(folder: URL, isKept: (component: Component) => boolean): Bill {
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application']
  const cwd = fileURLToPath(folder)
  const bill = JSON.parse(execFileSync('npm', args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })) as Bill
  const dropped = new Set(bill.components.filter(each => !isKept(each)).map(each => each['bom-ref']))
  return {
    ...bill,
    components: bill.components.filter(each => !dropped.has(each['bom-ref'])),
    dependencies: bill.dependencies
      .filter(({ ref }) => !dropped.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(each => !dropped.has(each)) })),
  }
}

const read = (file: string, folder: URL) => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
const { packages } = read('package-lock.json', ofConsole)
const bundled = new Set(
  [...bundledPackages(packages)].map(place => `${place.split('node_modules/').at(-1)}@${packages[place].version}`),
)
const broker = billOf(root, each => !isForDevelopers(each))
const web = billOf(ofConsole, each => bundled.has(each['bom-ref']))
const known = new Set(broker.components.map(each => each['bom-ref']))
const { name } = read('package.json', root) as { name: string }
console.log(
  JSON.stringify(
    {
      ...broker,
      // npm writes the folder's name; this writes the package's name.
      metadata: { ...broker.metadata, component: { ...broker.metadata.component, name } },
      components: [...broker.components, ...web.components.filter(each => !known.has(each['bom-ref']))],
      dependencies: [...broker.dependencies, ...web.dependencies.filter(({ ref }) => !known.has(ref))],
    },
    null,
    2,
  ),
)

// Checks the lockfiles of the broker and of the console before a release. Each package that a broker runs with, or that
// a browser gets, must have a licence that permits redistribution. Every package must come from the registry, have a
// hash, and work without its install script. It asks no registry: audit.ts asks for known vulnerabilities.

import { readFileSync } from 'node:fs'

/** SPDX identifiers of licences whose only condition is that their text is kept. */
const LICENCES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
])

const REGISTRY = 'https://registry.npmjs.org/'

/** The used fields of a row of `packages`. npm omits `resolved` if the configuration says that it is the registry. */
export interface LockedPackage {
  readonly dev?: boolean
  readonly license?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  /** True if it is a part of the archive of the package around it, whose hash covers it. */
  readonly inBundle?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
}

/** The packages of the console that build it. No code of them reaches a browser. */
const BUILDERS: readonly string[] = ['vite', '@vitejs/plugin-react', '@tailwindcss/vite']

/** The number of packages beside Node must be smaller than this. */
const TOO_MANY = 24

/**
 * Returns a sentence if package.json has too many dependencies. Node, which is also installed as a package, does not
 * count.
 */
export function objectionsToCount(dependencies: object): string[] {
  const count = Object.keys(dependencies).length
  return count < TOO_MANY
    ? []
    : [`package.json: a broker runs with ${count} packages; fewer than ${TOO_MANY} are allowed`]
}

/**
 * Returns the paths of the packages whose code a browser may get, from the lockfile of the console: its dependencies
 * and theirs, without those that only build.
 */
export function bundledPackages(packages: Readonly<Record<string, LockedPackage>>): ReadonlySet<string> {
  const found = new Set<string>()
  const add = (names: Readonly<Record<string, string>> = {}) => {
    for (const name of Object.keys(names)) {
      const place = `node_modules/${name}`
      if (found.has(place) || packages[place] === undefined) continue
      found.add(place)
      add(packages[place].dependencies)
    }
  }
  const asked = Object.entries(packages['']!.dependencies!)
  add(Object.fromEntries(asked.filter(([name]) => !BUILDERS.includes(name))))
  return found
}

/** Returns one sentence for each problem, with the package's path. `allowScripts` is that of package.json. */
export function objectionsTo(
  packages: Readonly<Record<string, LockedPackage>>,
  allowScripts: Readonly<Record<string, boolean>>,
): string[] {
  return Object.entries(packages).flatMap(
    ([place, { dev, license, integrity, resolved, hasInstallScript, inBundle }]) => {
      if (place === '') return []
      const objections: string[] = []
      if (dev !== true && !isAllowed(license))
        objections.push(`its licence is ${license ?? 'missing'}; scripts/packages.ts lists the allowed licences`)
      if (resolved !== undefined && !resolved.startsWith(REGISTRY))
        objections.push(`it comes from ${resolved} and not from ${REGISTRY}`)
      if (integrity?.startsWith('sha512-') !== true && inBundle !== true) objections.push('it has no SHA-512')
      const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
      if (hasInstallScript === true && allowScripts[name] !== false)
        objections.push(
          'it has an install script; check that it works without, and set it to false under allowScripts in package.json',
        )
      return objections.map(objection => `${place}: ${objection}`)
    },
  )
}

/**
 * Accepts an expression of one level: `A`, `(A OR B)`, `A AND B`. A nested expression is not parsed, so it is not
 * allowed.
 */
function isAllowed(expression: string | undefined): boolean {
  const choices = (expression ?? '').replace(/^\((.*)\)$/, '$1').split(' OR ')
  return choices.some(choice => choice.split(' AND ').every(licence => LICENCES.has(licence)))
}

if (import.meta.main) {
  const read = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))
  const { allowScripts, dependencies } = read('package.json')
  const ofConsole: Record<string, LockedPackage> = read('console/package-lock.json').packages
  const bundled = bundledPackages(ofConsole)
  const marked = Object.entries(ofConsole).map(([place, each]) => [place, { ...each, dev: !bundled.has(place) }])
  const objections = [
    ...objectionsTo(read('package-lock.json').packages, allowScripts),
    ...objectionsTo(Object.fromEntries(marked), {}).map(objection => `console/${objection}`),
    ...objectionsToCount(dependencies),
  ]
  for (const objection of objections) console.log(objection)
  process.exit(objections.length > 0 ? 1 : 0)
}

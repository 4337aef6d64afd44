// Tells whether the console in console/dist was built from the sources that are there. Each start asks this, so it is
// plain JavaScript for Node 20 and later and imports only Node's own modules. build-console.ts builds.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './node24.mjs'

export const consoleFolder = join(root, 'console')
/** The folder of the built console, which the broker serves. */
export const builtFolder = join(consoleFolder, 'dist')

/** The files outside of console/ that the build reads: code that the console imports, and the compiler's settings. */
export const SHARED = Object.freeze([
  'src/api/first-reads.ts',
  'src/api/pages.ts',
  'src/api/schema-words.ts',
  'src/api/words.ts',
  'tsconfig.json',
])
const SKIPPED = new Set(['dist', 'node_modules'])
const isTest = name => name.endsWith('.test.ts')

/** Returns the files of a folder below the root, as paths from the root. Names that begin with a dot do not count. */
function filesOf(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`
    if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return []
    if (entry.isDirectory()) return filesOf(path)
    return isTest(entry.name) ? [] : [path]
  })
}

/** Returns the stamp of the sources: a hash of their paths and bytes. Null if this folder has no console. */
export function stampOfSources() {
  if (!existsSync(join(consoleFolder, 'package.json'))) return null
  const hash = createHash('sha256')
  for (const path of [...filesOf('console'), ...SHARED].sort()) {
    const bytes = readFileSync(join(root, path))
    hash.update(`${path}\0${bytes.length}\0`).update(bytes)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Returns the stamp of the built console; null if no console is built. */
export function stampOfBuild() {
  try {
    return JSON.parse(readFileSync(join(builtFolder, 'files.json'), 'utf8')).stamp
  } catch {
    return null
  }
}

/**
 * Returns whether nothing has to be built: the built console is the one of its sources, or this folder has a built
 * console without sources. False if that cannot be read; build-console.ts says why.
 */
export function isConsoleBuilt() {
  try {
    const built = stampOfBuild()
    return built !== null && built === (stampOfSources() ?? built)
  } catch {
    return false
  }
}

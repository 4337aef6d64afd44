// Finds the files that have changed since a check last passed, so that the check need not look at the others again. The
// hashes of the files that passed are kept in a cache. Without Git, or without a cache, every file has changed.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The content of each file that a check may look at, by its repository path. */
export type Sources = ReadonlyMap<string, string>

/** Files of which each may change the outcome of a check for every other: settings, packages and ambient types. */
const REACHES_ALL = /(^|\/)(package-lock\.json|tsconfig\.json|biome\.json|\.oxlintrc\.json|[^/]+\.d\.m?ts)$/
const DECLARES_FOR_ALL = /^\s*declare (global|module)\b/m
const LOOKED_AT = /\.(tsx?|mts|mjs|js|json)$/
/** A relative specifier of an import, an export or a dynamic import, with any suffix that the bundler reads. */
const SPECIFIER = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}\/[^'"?]+)/g

/** Returns the files of the repository with a kind that a check looks at, without ignored files; null without Git. */
export function readSources(root: string): Sources | null {
  const { status, stdout } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  })
  if (status !== 0) return null
  const sources = new Map<string, string>()
  for (const file of stdout.split('\0').filter(each => LOOKED_AT.test(each))) {
    const content = readIfThere(join(root, file))
    if (content !== null) sources.set(file, content)
  }
  return sources
}

/**
 * Returns the files that differ from those that passed, sorted. With `importers` also every file that imports one of
 * them, at any distance, because types reach that far. Returns null if a change reaches every file: check all.
 */
export function changedFiles(
  sources: Sources,
  passed: ReadonlyMap<string, string>,
  { importers }: { readonly importers: boolean },
): readonly string[] | null {
  const changed = new Set(
    [...sources].filter(([file, content]) => passed.get(file) !== hashOf(content)).map(([f]) => f),
  )
  const gone = [...passed.keys()].filter(file => !sources.has(file))
  const reachesAll = (file: string) =>
    REACHES_ALL.test(file) ||
    DECLARES_FOR_ALL.test(sources.get(file) ?? '') ||
    passed.get(file)?.startsWith(FOR_ALL) === true
  if ([...changed, ...gone].some(reachesAll)) return null
  if (importers) {
    const importersOf = readImporters(sources)
    const reached = [...changed, ...gone]
    for (let file = reached.pop(); file !== undefined; file = reached.pop()) {
      for (const importer of importersOf.get(file) ?? []) {
        if (changed.has(importer)) continue
        changed.add(importer)
        reached.push(importer)
      }
    }
  }
  return [...changed].sort()
}

/** Returns the hashes of the files that passed the check, from the cache; an empty map without a cache. */
export function readPassed(cacheFile: string): ReadonlyMap<string, string> {
  const text = readIfThere(cacheFile)
  try {
    return new Map(Object.entries(JSON.parse(text ?? '{}') as Record<string, string>))
  } catch {
    // A run that was killed may leave half a file. Then every file is checked.
    return new Map()
  }
}

/** Keeps in the cache that these files passed the check. */
export function keepPassed(cacheFile: string, sources: Sources): void {
  mkdirSync(dirname(cacheFile), { recursive: true })
  const hashes = Object.fromEntries([...sources].map(([file, content]) => [file, hashOf(content)]))
  writeFileSync(cacheFile, JSON.stringify(hashes))
}

/** For each file: the files that import it. */
function readImporters(sources: Sources): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>()
  for (const [file, content] of sources) {
    for (const [, specifier] of content.matchAll(SPECIFIER)) {
      const imported = normalize(join(dirname(file), specifier!))
      const known = importers.get(imported)
      if (known === undefined) importers.set(imported, new Set([file]))
      else known.add(file)
    }
  }
  return importers
}

/** A hash begins with this if the file declares types for every other file. */
const FOR_ALL = 'for all '

const hashOf = (content: string): string =>
  (DECLARES_FOR_ALL.test(content) ? FOR_ALL : '') + createHash('sha256').update(content).digest('base64')

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

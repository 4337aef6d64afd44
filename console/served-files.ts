// Prepares the built files for the broker, as a plugin of Vite: compresses each file and writes files.json, which
// names the files that the broker serves and the scripts of each page (src/http/console-files.ts reads it). It compiles
// nothing.

import { readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin, Rolldown } from 'vite'
import { stampOfSources } from '../scripts/console-build.mjs'
import { pages } from '../src/api/pages.ts'

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const brotli = (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
/** With less memory, the tables of some files fit their parts better. */
const gzip = (bytes: Buffer) =>
  [6, 7, 8, 9]
    .map(memLevel => gzipSync(bytes, { level: 9, memLevel }))
    .sort((one, other) => one.length - other.length)[0]!

/** The name of each encoding in HTTP, with the ending of its files. */
const ENCODINGS = [
  ['br', '.br', brotli],
  ['gzip', '.gz', gzip],
] as const

export function servedFiles(): Plugin {
  let stamp: string | null = null
  return {
    name: 'ketch-served-files',
    apply: 'build',
    // Taken before the sources are read: if a source changes during the build, the next start builds again.
    buildStart() {
      stamp = stampOfSources()
    },
    /** The page compares this stamp with the one that the broker sends (src/http/routes/console.ts). */
    transformIndexHtml: () => [{ tag: 'meta', attrs: { name: 'ketch-console', content: stamp! }, injectTo: 'head' }],
    writeBundle: {
      order: 'post',
      handler({ dir }, bundle) {
        const paths = Object.keys(bundle).filter(path => !path.startsWith('.vite/'))
        const files = paths.sort().map(path => prepare(dir!, path))
        const list = { stamp, files, scripts: scriptsOfPages(bundle) }
        writeFileSync(join(dir!, 'files.json'), `${JSON.stringify(list, null, 2)}\n`)
      },
    },
  }
}

/**
 * Returns the scripts that each page needs beside those that index.html names, by the path of the page: the browser can
 * begin to load them with the first ones. The entry of a page is pages/<page>/<page>.tsx.
 */
function scriptsOfPages(bundle: Rolldown.OutputBundle): Readonly<Record<string, readonly string[]>> {
  const chunks = Object.values(bundle).filter(each => each.type === 'chunk')
  const withImports = (paths: readonly string[]): readonly string[] => {
    const all = new Set(paths)
    // A set also visits what is added on the way.
    for (const path of all) for (const each of chunks.find(({ fileName }) => fileName === path)!.imports) all.add(each)
    return [...all]
  }
  const first = withImports(chunks.filter(({ isEntry }) => isEntry).map(({ fileName }) => fileName))
  return Object.fromEntries(
    Object.entries(pages).map(([id, { path }]) => {
      const name = id.replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
      const entry = chunks.find(({ moduleIds }) => moduleIds.some(each => each.endsWith(`/pages/${name}/${name}.tsx`)))
      if (entry === undefined) throw new Error(`the page ${id} has no script`)
      return [path, withImports([entry.fileName]).filter(each => !first.includes(each))]
    }),
  )
}

/** Compresses a file if that makes it smaller. Returns its row of files.json. */
function prepare(dir: string, path: string) {
  const mediaType = MEDIA_TYPES[extname(path)]
  if (mediaType === undefined) throw new Error(`${path}: console/served-files.ts has no media type for this ending`)
  const isHashed = /^assets\/.+-[\w-]{8}\.\w+$/.test(path)
  if (!isHashed && path !== 'index.html') throw new Error(`${path}: a built file has its hash in its name`)
  const bytes = readFileSync(join(dir, path))
  const encodings = ENCODINGS.filter(([, ending, compress]) => {
    const smaller = compress(bytes)
    if (smaller.length >= bytes.length) return false
    writeFileSync(join(dir, path + ending), smaller)
    return true
  }).map(([name]) => name)
  return { path, mediaType, isHashed, encodings, bytes: bytes.length }
}

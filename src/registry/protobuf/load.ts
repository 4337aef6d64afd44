// The files of a schema: its text and all that it imports. Imports come only from the given dependencies and from the
// files that every registry knows (well-known.ts): nothing is read from a disk or from the network.

import type { SchemaText, Strictness } from '../format.ts'
import { InvalidSchema } from '../format.ts'
import { descriptorsWith, plainDescriptors } from './descriptor-program.ts'
import { fromDescriptor } from './from-descriptor.ts'
import { linkFile } from './link.ts'
import type { File, ProtobufSchema } from './model.ts'
import { descriptorBytes, parseSource } from './parse-source.ts'
import { isWellKnown, wellKnownFile } from './well-known.ts'

const MOST_IMPORTS_DEEP = 200

/** Parses the schema and all that it imports. Throws InvalidSchema. */
export function load(source: SchemaText, strictness: Strictness): ProtobufSchema {
  const texts = new Map(source.dependencies.map(dependency => [dependency.name, dependency.text]))
  const loader = new Loader(texts, strictness)
  const { files } = loader
  const file = loader.load(source.text)
  for (const imported of files.values()) {
    // Files that are shared between schemas are linked once, by wellKnownFile.
    if (texts.has(imported.path)) linkFile(imported, files, 'stored')
  }
  linkFile(file, files, strictness)
  const bytes = descriptorBytes(source.text)
  const program = bytes === null ? null : descriptorsWith(files)
  if (bytes === null || program === plainDescriptors()) return { file, files }
  // The options of a descriptor are understood only by the extensions that its imports declare: it is read once more.
  const whole = fromDescriptor(bytes, '', program ?? plainDescriptors())
  files.set('', whole)
  linkFile(whole, files, strictness)
  return { file: whole, files }
}

class Loader {
  /** By path; the schema itself is ''. A file stands behind the files that it imports. */
  readonly files = new Map<string, File>()
  readonly #texts: ReadonlyMap<string, string>
  readonly #strictness: Strictness
  readonly #open: string[] = []

  constructor(texts: ReadonlyMap<string, string>, strictness: Strictness) {
    this.#texts = texts
    this.#strictness = strictness
  }

  load(text: string): File {
    const file = parseSource(text, '')
    this.#imports(file)
    this.files.set('', file)
    return file
  }

  #imports(file: File): void {
    const seen = new Set<string>()
    for (const { path } of file.imports) {
      if (seen.has(path) && file.path === '' && this.#strictness === 'new') {
        throw new InvalidSchema(`"${path}" is imported twice`)
      }
      seen.add(path)
      this.#import(path, file)
    }
  }

  #import(path: string, from: File): void {
    const cycle = this.#open.indexOf(path)
    if (cycle >= 0) {
      const names = [...this.#open.slice(cycle), path].map(name => `"${name}"`)
      throw new InvalidSchema(`Files import each other in a circle: ${names.join(' imports ')}`)
    }
    if (this.files.has(path)) return
    const text = this.#texts.get(path)
    if (text === undefined) {
      this.#importWellKnown(path, from)
      return
    }
    if (this.#open.length >= MOST_IMPORTS_DEEP) {
      throw new InvalidSchema(`Imports stand behind each other over more than ${MOST_IMPORTS_DEEP} files, at "${path}"`)
    }
    this.#open.push(path)
    const file = this.#dependency(text, path)
    this.#imports(file)
    this.#open.pop()
    this.files.set(path, file)
  }

  #dependency(text: string, path: string): File {
    try {
      return parseSource(text, path)
    } catch (error) {
      if (!(error instanceof InvalidSchema)) throw error
      throw new InvalidSchema(`In the import "${path}": ${error.message}`, { cause: error })
    }
  }

  #importWellKnown(path: string, from: File): void {
    if (!isWellKnown(path)) {
      const where = from.path === '' ? '' : ` (in the import "${from.path}")`
      const wrong = pathMistake(path)
      // The types of a missing import stay open in a stored schema.
      if (this.#strictness === 'stored' && wrong === null) return
      throw new InvalidSchema(`The import "${path}"${where} ${wrong ?? 'is not in the references of the schema'}`)
    }
    const file = wellKnownFile(path)
    for (const imported of file.imports) this.#import(imported.path, file)
    this.files.set(path, file)
  }
}

function pathMistake(path: string): string | null {
  if (path === '') return 'has no path'
  const isRelative = path.split('/').some(part => part === '..' || part === '.' || part === '')
  if (isRelative || /[\\:]/.test(path))
    return 'is no path of an import: expected names with "/" between them, as in "a/b.proto"'
  return null
}

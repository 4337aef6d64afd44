// Reads the two values of krb5.conf that concern an acceptor: `default_realm` and `permitted_enctypes` of [libdefaults]
// (krb5.conf(5)). The rest of the file is for programs that talk to a KDC, which the broker does not do. But the whole
// file is parsed: if it is broken, clients on this machine cannot use it either.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ENCTYPES } from './enctypes.ts'

export interface Krb5Conf {
  readonly defaultRealm: string | null
  /** The numbers of the permitted enctypes that the broker supports; null if the file does not restrict them. */
  readonly permitted: ReadonlySet<number> | null
}

/** The message is a phrase that begins with the file and its line. */
export class Krb5ConfError extends Error {
  override readonly name = 'Krb5ConfError'
}

/** Files may include others, but a file that includes itself must end too. */
const MOST_FILES = 100
/** The files of a folder that `includedir` reads. */
const INCLUDED = /^[\w-]+$|^[^.].*\.conf$/

/** The value of each `section.key` outside of braces; the first one counts, as in MIT Kerberos. */
type Values = Map<string, string>

/** Reads the file; resolves with null if there is no such file. Throws Krb5ConfError. */
export async function readKrb5Conf(path: string): Promise<Krb5Conf | null> {
  const values: Values = new Map()
  if (!(await collect(path, values, { files: 0 }))) return null
  const permitted = values.get('libdefaults.permitted_enctypes')
  return {
    defaultRealm: values.get('libdefaults.default_realm') ?? null,
    permitted: permitted === undefined ? null : enctypesIn(permitted),
  }
}

/** Adds the values of a file and of those that it includes. Resolves with false if there is no such file. */
async function collect(path: string, values: Values, read: { files: number }): Promise<boolean> {
  if (++read.files > MOST_FILES) throw new Krb5ConfError(`${path} is one of more than ${MOST_FILES} included files`)
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw new Krb5ConfError(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
  }
  let section: string | null = null
  let depth = 0
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const trimmed = line.trim()
    const refuse = (why: string) => new Krb5ConfError(`${path}, line ${index + 1}: ${why}`)
    if (trimmed === '' || /^[#;]/.test(trimmed)) continue
    const [, directive, target] = /^(include|includedir|module)\s+(\S.*)$/.exec(trimmed) ?? []
    if (depth === 0 && directive !== undefined) {
      if (directive !== 'module') await include(directive, target!, values, read, refuse)
    } else if (depth === 0 && trimmed.startsWith('[')) {
      const [, name] = /^\[\s*([^\]]*?)\s*\]/.exec(trimmed) ?? []
      if (name === undefined) throw refuse("a section has no ']'")
      section = name
    } else if (/^\}\*?$/.test(trimmed)) {
      if (depth-- === 0) throw refuse("'}' closes nothing")
    } else if (trimmed === '{') {
      // The value of the line before.
      depth++
    } else if (section !== null) {
      const [, key, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(trimmed) ?? []
      if (key === undefined) throw refuse("a line has no 'name = value'")
      if (value === '{') depth++
      else if (depth === 0) keepFirst(values, `${section}.${key.replace(/\*$/, '')}`, unquoted(value!))
    }
  }
  if (depth > 0) throw new Krb5ConfError(`${path} ends before a '{' is closed`)
  return true
}

async function include(
  directive: string,
  target: string,
  values: Values,
  read: { files: number },
  refuse: (why: string) => Krb5ConfError,
): Promise<void> {
  if (directive === 'include') {
    if (!(await collect(target, values, read))) throw refuse(`the included file ${target} does not exist`)
    return
  }
  let names: string[]
  try {
    names = await readdir(target)
  } catch (error) {
    throw refuse(`the included folder cannot be read: ${(error as Error).message}`)
  }
  for (const name of names.filter(name => INCLUDED.test(name)).sort()) await collect(join(target, name), values, read)
}

function keepFirst(values: Values, key: string, value: string): void {
  if (!values.has(key)) values.set(key, value)
}

function unquoted(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? value
}

/** Returns the supported enctypes of a list such as `DEFAULT -aes128-cts` or `aes`. Other names count not. */
function enctypesIn(list: string): ReadonlySet<number> {
  const permitted = new Set<number>()
  for (const word of list.toLowerCase().split(/[\s,]+/)) {
    const name = word.replace(/^[+-]/, '')
    const isFamily = name === 'default' || name === 'aes'
    for (const { number, name: own, aliases } of ENCTYPES) {
      if (!isFamily && own !== name && !aliases.includes(name)) continue
      if (word.startsWith('-')) permitted.delete(number)
      else permitted.add(number)
    }
  }
  return permitted
}

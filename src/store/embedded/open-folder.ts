// Opens the folder of an embedded store: creates it with its modes, checks it for foreign files, locks it and reads
// its layout version. Every refusal is one StoreOpenError that names the folder. It opens neither the journal nor the
// index.
//
//   format         one line of JSON: whose folder this is and in which layout
//   lock           held while a store is open (lock.ts); lock-holder names the process
//   index          lmdb: the checkpoint (checkpoint.ts), with index-lock beside it
//   journal-<n>    the journal's files (journal.ts); spare-<n> wait to become the next
//   reserve        room for what a full disk must still take (reserve.ts)

import fs from 'node:fs'
import { dirname, join } from 'node:path'
import { StoreOpenError } from '../open-error.ts'
import { fileNumber, isSpare } from './journal.ts'
import { type Lock, lockFolder } from './lock.ts'
import { RESERVE } from './reserve.ts'

export const INDEX = 'index'
const FORMAT = 'format'
const formatText = (layout: number) => `${JSON.stringify({ store: 'ketch embedded', layout })}\n`
/** Layout 2 has rewrites. A folder of layout 1 has none, and becomes one of layout 2 when it is opened. */
const FORMAT_TEXT = formatText(2)
const FORMER_TEXT = formatText(1)
const FORMAT_DRAFT = 'format-draft'
const OURS = new Set([FORMAT, FORMAT_DRAFT, 'lock', 'lock-journal', 'lock-holder', INDEX, `${INDEX}-lock`, RESERVE])

export interface Folder {
  readonly lock: Lock
  /** The journal files and spares with their sizes in bytes. */
  readonly journal: readonly { readonly name: string; readonly size: number }[]
  readonly hasIndex: boolean
  /** The bytes of the reserve that occupy blocks of the disk. A sparse file occupies none. */
  readonly reserveBytes: number
}

export function openFolder(path: string): Folder {
  let names: string[]
  try {
    makeFolder(path)
    names = fs.readdirSync(path)
    fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK)
  } catch (error) {
    throw refusal(path, reasonOf(error as NodeJS.ErrnoException, path), error)
  }
  const foreign = names.filter(name => !OURS.has(name) && fileNumber(name) === null && !isSpare(name))
  if (foreign.length > 0 && !(foreign.length === 1 && foreign[0] === 'lost+found')) {
    const some = foreign.slice(0, 3).map(name => JSON.stringify(name))
    throw refusal(path, `it holds files of another program (${some.join(', ')}); give the store a folder of its own`)
  }
  let lock: Lock | string
  try {
    lock = lockFolder(path)
  } catch (error) {
    throw refusal(path, `its lock cannot be taken: ${(error as Error).message}`, error)
  }
  if (typeof lock === 'string')
    throw refusal(path, `it is in use by ${lock}; end that broker, or give this one a folder of its own`)
  try {
    checkFormat(path, names)
    fs.chmodSync(path, 0o700)
    const journal = names
      .filter(name => fileNumber(name) !== null || isSpare(name))
      .map(name => ({ name, size: fs.statSync(join(path, name)).size }))
    const reserve = names.includes(RESERVE) ? fs.statSync(join(path, RESERVE)) : { size: 0, blocks: 0 }
    const reserveBytes = Math.min(reserve.size, reserve.blocks * 512)
    return { lock, journal, hasIndex: names.includes(INDEX), reserveBytes }
  } catch (error) {
    lock.release()
    if (error instanceof StoreOpenError) throw error
    throw refusal(path, (error as Error).message, error)
  }
}

export function refusal(path: string, reason: string, cause?: unknown): StoreOpenError {
  return new StoreOpenError(`the store folder ${path} cannot be opened: ${reason}`, { cause })
}

function reasonOf(error: NodeJS.ErrnoException, path: string): string {
  if (error.code === 'EEXIST' || error.code === 'ENOTDIR') return `${error.path ?? path} is not a folder`
  if (error.code === 'EACCES' || error.code === 'EPERM' || error.code === 'EROFS') {
    return `this process may not write there (${error.code})`
  }
  if (error.code === 'ENOENT') return `${error.path ?? path} cannot be made there`
  return error.message
}

function checkFormat(path: string, names: readonly string[]): void {
  const file = join(path, FORMAT)
  if (names.includes(FORMAT)) {
    const text = fs.readFileSync(file, 'utf8')
    if (text === FORMER_TEXT) writeFormat(path)
    else if (text !== FORMAT_TEXT)
      throw refusal(
        path,
        `its format is ${JSON.stringify(text.slice(0, 100))}, and this version reads ${FORMAT_TEXT.trim()} and ${FORMER_TEXT.trim()}`,
      )
    return
  }
  const data = names.filter(name => name === INDEX || fileNumber(name) !== null)
  if (data.length > 0) {
    throw refusal(path, `it holds ${data[0]} but no ${FORMAT} file; restore the missing file or the whole folder`)
  }
  writeFormat(path)
}

function writeFormat(path: string): void {
  const draft = join(path, FORMAT_DRAFT)
  const fd = fs.openSync(draft, 'w', 0o600)
  try {
    fs.writeSync(fd, FORMAT_TEXT)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
  fs.renameSync(draft, join(path, FORMAT))
  const folder = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(folder)
  } finally {
    fs.closeSync(folder)
  }
}

/**
 * Creates the folder and its parents. It does not use mkdir's `recursive`, which never ends in places where no
 * process may create a folder (/proc).
 */
function makeFolder(path: string): void {
  if (fs.existsSync(path)) return
  makeFolder(dirname(path))
  fs.mkdirSync(path, { mode: 0o700 })
}

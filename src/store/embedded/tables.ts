// The lmdb file that holds the checkpoint: its tables, opened with care, and written in one atomic, durable batch at a
// time. It knows keys and values as bytes; what they mean is for checkpoint.ts and run-index.ts.
//
// lmdb maps its file, so a truncated one would end the process with SIGBUS: its size is checked before it is opened. So
// would its lock file, where the disk has no block for a page of it: its bytes are written before lmdb maps it.
//
// Behind the pages that are used the file is filled ahead with zeros, so that a commit finds blocks on a full disk.

import fs from 'node:fs'
import { type Database, open, type RootDatabase } from 'lmdb'
import { StoreOpenError } from '../open-error.ts'

export type Key = Buffer

export interface Range {
  /** Included. */
  readonly start: Key
  /** Excluded. */
  readonly end: Key
  readonly reverse?: boolean
  readonly limit?: number
}

export interface Table {
  /** The value is a copy. */
  get(key: Key): Buffer | undefined
  /** The answered buffers are copies and stay valid. */
  range(range: Range): Iterable<{ readonly key: Buffer; readonly value: Buffer }>
}

export const TABLES = ['meta', 'streams', 'runs', 'rows', 'documents', 'fields', 'files'] as const
export type TableName = (typeof TABLES)[number]

/** A null value deletes the key. */
export interface Change {
  readonly table: TableName
  readonly key: Key
  readonly value: Buffer | null
}

export interface Tables extends Readonly<Record<TableName, Table>> {
  /** All or nothing, and on the disk when it resolves. Reads see it from then on. One at a time. */
  commit(changes: readonly Change[]): Promise<void>
  close(): Promise<void>
}

const LMDB_MAGIC = 0xbeefc0de

/**
 * `leastAhead`: how many bytes the file is filled ahead of what is used, where the disk has room; up to twice as many
 * when the index is larger than that.
 */
export function openTables(path: string, leastAhead: number): Tables {
  if (fs.existsSync(path)) checkWhole(path)
  let file: number
  let root: RootDatabase<Buffer, Buffer>
  const databases = {} as Record<TableName, Database<Buffer, Buffer>>
  try {
    fillLockFile(`${path}-lock`)
    root = open<Buffer, Buffer>({
      path,
      noSubdir: true,
      maxDbs: TABLES.length,
      pageSize: PAGE_BYTES,
      encoding: 'binary',
      keyEncoding: 'binary',
      // Our batches are explicit. The implicit one of each turn has a promise of its own that no code can catch.
      eventTurnBatching: false,
      // A commit's promise then means that it is on the disk.
      overlappingSync: false,
    })
    for (const name of TABLES) {
      databases[name] = root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' })
    }
    for (const each of [path, `${path}-lock`]) fs.chmodSync(each, 0o600)
    file = fs.openSync(path, 'r+')
    fillAhead(file, leastAhead)
  } catch (error) {
    throw new StoreOpenError(`the index ${path} cannot be opened: ${(error as Error).message}`, { cause: error })
  }
  const tables = Object.fromEntries(TABLES.map(name => [name, tableOf(databases[name])])) as Record<TableName, Table>
  return {
    ...tables,
    async commit(changes) {
      if (changes.length === 0) return
      // A batch is one lmdb transaction; a failed operation aborts it whole. lmdb keeps raw pointers into the buffers,
      // so `changes` stays referenced until it is done.
      // Every operation answers a promise of its own fate; the batch's says the same for all.
      const fates = new Set<Promise<boolean>>()
      const whole = root.batch(() => {
        for (const { table, key, value } of changes) {
          fates.add(value === null ? databases[table].remove(key) : databases[table].put(key, value))
        }
      })
      for (const fate of fates) fate.catch(() => {})
      await whole.catch(async (error: Error & { commitError?: Promise<unknown> }) => {
        const cause = await error.commitError?.then(
          () => error,
          (reason: Error) => reason,
        )
        throw new Error(`lmdb could not commit: ${(cause as Error | undefined)?.message ?? error.message}`, {
          cause: error,
        })
      })
      root.resetReadTxn()
      fillAhead(file, leastAhead)
    },
    async close() {
      await root.close()
      fs.closeSync(file)
    },
  }
}

function tableOf(database: Database<Buffer, Buffer>): Table {
  return {
    get: key => {
      const value = database.getBinary(key)
      return value === undefined ? undefined : Buffer.from(value)
    },
    *range(range) {
      for (const { key, value } of database.getRange(range)) {
        yield { key: Buffer.from(key), value: Buffer.from(value) }
      }
    },
  }
}

/**
 * Throws when an lmdb file is not one, or is shorter than the pages that its newest meta page counts. A commit may
 * leave its last few pages unwritten when it freed them again; `fillAhead` makes up for that after every commit, so
 * only a crash in between leaves such a file, and then by no more than a few pages.
 */
function checkWhole(path: string): void {
  const file = fs.openSync(path, 'r+')
  try {
    const { size, needed } = measure(file)
    if (size === 0) return // lmdb had not begun it
    if (needed === null) {
      throw new StoreOpenError(`the index ${path} is not an lmdb file, or its first pages are damaged`)
    }
    if (size + FEW_PAGES * PAGE_BYTES < needed) {
      throw new StoreOpenError(
        `the index ${path} is truncated: it holds ${size} bytes and its newest state needs ${needed}`,
      )
    }
    if (size < needed) fs.ftruncateSync(file, needed)
  } finally {
    fs.closeSync(file)
  }
}

const PAGE_BYTES = 4096
const FEW_PAGES = 4
const ZEROS = Buffer.alloc(1 << 20)

/** Fills the file with zeros beyond the used part, once half of the earlier zeros have been used. */
function fillAhead(file: number, leastAhead: number): void {
  const { size, needed } = measure(file)
  if (needed === null) return
  // A commit writes every changed page to a new place: the larger the index, the more pages can change.
  const ahead = Math.min(2 * leastAhead, Math.max(needed, leastAhead))
  if (size >= needed + ahead / 2) return
  try {
    for (let at = size; at < needed + ahead; ) {
      at += fs.writeSync(file, ZEROS, 0, Math.min(ZEROS.length, needed + ahead - at), at)
    }
  } catch {
    // A full disk: less is filled ahead. The bytes that count must be there, even as a hole.
    if (fs.fstatSync(file).size < needed) fs.ftruncateSync(file, needed)
  }
}

/** The bytes of lmdb's lock file. */
const LOCK_FILE_BYTES = 8192

/**
 * Sees to it that the lock file has its blocks: lmdb writes it through a mapping, where a full disk ends the process.
 */
function fillLockFile(path: string): void {
  const file = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
  try {
    const { size, blocks } = fs.fstatSync(file)
    // lmdb begins it anew where no other process has it open, and no other has.
    if (Math.min(size, blocks * 512) < LOCK_FILE_BYTES) fs.writeSync(file, ZEROS, 0, LOCK_FILE_BYTES, 0)
  } finally {
    fs.closeSync(file)
  }
}

/** The bytes of an lmdb file, and the bytes that its newest state spans (null: no meta page can be read). */
function measure(file: number): { readonly size: number; readonly needed: number | null } {
  const { size } = fs.fstatSync(file)
  let needed: number | null = null
  let newest = -1n
  for (let meta = 0; meta < 2; meta++) {
    const bytes = Buffer.alloc(160)
    fs.readSync(file, bytes, 0, bytes.length, meta * PAGE_BYTES)
    // Page header 24; magic u32, version u32, address u64, map size u64, two database records of 48 bytes (the first
    // begins with the page size), last page u64, transaction u64.
    const transaction = bytes.readBigUInt64LE(152)
    if (bytes.readUInt32LE(24) !== LMDB_MAGIC || transaction < newest) continue
    newest = transaction
    needed = (Number(bytes.readBigUInt64LE(144)) + 1) * bytes.readUInt32LE(48)
  }
  return { size, needed }
}

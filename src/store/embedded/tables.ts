// The lmdb file that holds the checkpoint: its tables, opened with care, and written in one atomic, durable batch at a
// time. It knows keys and values as bytes; what they mean is for checkpoint.ts and run-index.ts.
//
// lmdb maps its file, so a truncated one would end the process with SIGBUS: its size is checked before it is opened.

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

export function openTables(path: string): Tables {
  if (fs.existsSync(path)) checkWhole(path)
  let root: RootDatabase<Buffer, Buffer>
  const databases = {} as Record<TableName, Database<Buffer, Buffer>>
  try {
    root = open<Buffer, Buffer>({
      path,
      noSubdir: true,
      maxDbs: TABLES.length,
      pageSize: PAGE_BYTES,
      encoding: 'binary',
      keyEncoding: 'binary',
      // Our batches are explicit. The implicit one of each turn has a promise of its own that nobody can catch.
      eventTurnBatching: false,
      // A commit's promise then means that it is on the disk.
      overlappingSync: false,
    })
    for (const name of TABLES) {
      databases[name] = root.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' })
    }
    for (const each of [path, `${path}-lock`]) fs.chmodSync(each, 0o600)
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
      lengthen(path)
    },
    close: () => root.close(),
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
 * leave its last few pages unwritten when it freed them again; `lengthen` makes up for that after every commit, so only
 * a crash in between leaves such a file, and then by no more than a few pages.
 */
function checkWhole(path: string): void {
  const { size, needed } = measure(path)
  if (size === 0) return // lmdb had not begun it
  if (needed === null) {
    throw new StoreOpenError(`the index ${path} is not an lmdb file, or its first pages are damaged`)
  }
  if (size + FEW_PAGES * PAGE_BYTES < needed) {
    throw new StoreOpenError(
      `the index ${path} is truncated: it holds ${size} bytes and its newest state needs ${needed}`,
    )
  }
  lengthen(path)
}

const PAGE_BYTES = 4096
const FEW_PAGES = 4

/** Extends the file to the pages that it counts. */
function lengthen(path: string): void {
  const { size, needed } = measure(path)
  if (needed !== null && size < needed) fs.truncateSync(path, needed)
}

/** The bytes of an lmdb file, and the bytes that its newest state spans (null: no meta page can be read). */
function measure(path: string): { readonly size: number; readonly needed: number | null } {
  const fd = fs.openSync(path, 'r')
  try {
    const { size } = fs.fstatSync(fd)
    let needed: number | null = null
    let newest = -1n
    for (let meta = 0; meta < 2; meta++) {
      const bytes = Buffer.alloc(160)
      fs.readSync(fd, bytes, 0, bytes.length, meta * PAGE_BYTES)
      // Page header 24; magic u32, version u32, address u64, map size u64, two database records of 48 bytes (the first
      // begins with the page size), last page u64, transaction u64.
      const transaction = bytes.readBigUInt64LE(152)
      if (bytes.readUInt32LE(24) !== LMDB_MAGIC || transaction < newest) continue
      newest = transaction
      needed = (Number(bytes.readBigUInt64LE(144)) + 1) * bytes.readUInt32LE(48)
    }
    return { size, needed }
  } finally {
    fs.closeSync(fd)
  }
}

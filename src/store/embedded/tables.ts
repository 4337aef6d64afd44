// The lmdb file of the checkpoint. It opens the tables safely and writes one atomic, durable batch at a time. Keys
// and values are bytes here; checkpoint.ts and run-index.ts know their meaning.
//
// lmdb maps its file, so a truncated file would end the process with SIGBUS: its size is checked before it is opened.
// The lock file would do the same if the disk has no block for one of its pages: its bytes are written before lmdb
// maps it.
//
// If lmdb cannot write a meta page, it refuses all later reads and writes of this process. A batch that is queued after
// that never settles, holds lmdb's lock, and stops the process from ending. So no batch is queued after that.
//
// The file is filled with zeros beyond the used pages, so that a commit finds blocks on a full disk.

import fs from 'node:fs'
import { type Database, open, type RootDatabase } from 'lmdb'
import { StoreOpenError } from '../open-error.ts'

export type Key = Buffer

export interface Range {
  /** The first key of the range. */
  readonly start: Key
  /** The key after the range. */
  readonly end: Key
  readonly reverse?: boolean
  readonly limit?: number
}

export interface Table {
  /** Returns a copy of the value. */
  get(key: Key): Buffer | undefined
  /** Yields copies of keys and values, which stay valid. */
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

/** Thrown if lmdb refuses all reads and writes until the file is opened again. */
export class IndexFailed extends Error {
  override readonly name = 'IndexFailed'
}

export interface Tables extends Readonly<Record<TableName, Table>> {
  /**
   * Commits all changes or none. When it resolves, they are on the disk and reads see them. Only one commit may run
   * at a time. If it rejects, no read sees the changes, and a later commit may succeed. If it rejects with IndexFailed,
   * the changes may be there when the file is opened again, and all later reads and commits throw the same error.
   */
  commit(changes: readonly Change[]): Promise<void>
  close(): Promise<void>
}

const LMDB_MAGIC = 0xbeefc0de

/**
 * Opens the tables. `leastAhead` is the number of zero bytes beyond the used part, if the disk has space. A file
 * whose used part is larger gets up to twice as many.
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
      // The store uses explicit batches. The implicit batch of each turn has a promise that no code can catch.
      eventTurnBatching: false,
      // With this, a commit's promise resolves when the commit is on the disk.
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
  let failed: IndexFailed | null = null
  const checkUsable = () => {
    if (failed !== null) throw failed
  }
  const tables = Object.fromEntries(TABLES.map(name => [name, tableOf(databases[name], checkUsable)])) as Record<
    TableName,
    Table
  >
  return {
    ...tables,
    async commit(changes) {
      checkUsable()
      if (changes.length === 0) return
      const { newest: former } = measure(file)
      // Every operation returns its own promise; the promise of the batch tells the same for all.
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
        const message = `lmdb could not commit: ${(cause as Error | undefined)?.message ?? error.message}`
        // The error of the commit does not tell whether lmdb goes on.
        if (canRead(root, databases.meta)) throw new Error(message, { cause: error })
        failed = new IndexFailed(`${message}; it refuses all reads and writes until the next start`, { cause: error })
        throw failed
      })
      root.resetReadTxn()
      // On a full disk lmdb may resolve the promise of a batch that it has not written. The journal is deleted up to a
      // checkpoint, so only the file itself counts.
      if (measure(file).newest <= former) throw new Error('lmdb could not commit: its file has no new transaction')
      fillAhead(file, leastAhead)
    },
    async close() {
      await root.close()
      fs.closeSync(file)
    },
  }
}

/** Returns false if lmdb refuses all reads and writes: then it begins no new read transaction. */
function canRead(root: RootDatabase<Buffer, Buffer>, database: Database<Buffer, Buffer>): boolean {
  root.resetReadTxn()
  try {
    database.getBinary(Buffer.of(0))
    return true
  } catch {
    return false // the error depends on the state of the read transaction, and the caller has the one of the commit
  }
}

function tableOf(database: Database<Buffer, Buffer>, checkUsable: () => void): Table {
  return {
    get: key => {
      checkUsable()
      const value = database.getBinary(key)
      return value === undefined ? undefined : Buffer.from(value)
    },
    *range(range) {
      checkUsable()
      for (const { key, value } of database.getRange(range)) {
        yield { key: Buffer.from(key), value: Buffer.from(value) }
      }
    },
  }
}

/**
 * Throws if the file is not an lmdb file, or is shorter than the pages that its newest meta page counts. A commit may
 * leave its last few pages unwritten if it freed them again. `fillAhead` adds them after every commit, so only a
 * crash in between leaves such a file, and then only a few pages are missing.
 */
function checkWhole(path: string): void {
  const file = fs.openSync(path, 'r+')
  try {
    const { size, needed } = measure(file)
    if (size === 0) return // lmdb has not initialized it
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
  // A commit writes every changed page to a new position: the larger the index, the more pages can change.
  const ahead = Math.min(2 * leastAhead, Math.max(needed, leastAhead))
  if (size >= needed + ahead / 2) return
  try {
    for (let at = size; at < needed + ahead; ) {
      at += fs.writeSync(file, ZEROS, 0, Math.min(ZEROS.length, needed + ahead - at), at)
    }
  } catch {
    // On a full disk less is filled ahead. The used bytes must exist, even as a hole.
    if (fs.fstatSync(file).size < needed) fs.ftruncateSync(file, needed)
  }
}

/** The size in bytes of lmdb's lock file. */
const LOCK_FILE_BYTES = 8192

/**
 * Makes sure that the lock file has its blocks: lmdb writes it through a mapping, and a full disk would then end the
 * process.
 */
function fillLockFile(path: string): void {
  const file = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT, 0o600)
  try {
    const { size, blocks } = fs.fstatSync(file)
    // lmdb initializes the file again if no other process has it open, and no other process has.
    if (Math.min(size, blocks * 512) < LOCK_FILE_BYTES) fs.writeSync(file, ZEROS, 0, LOCK_FILE_BYTES, 0)
  } finally {
    fs.closeSync(file)
  }
}

interface Measured {
  readonly size: number
  /** The size that the newest state needs; null if no meta page can be read. */
  readonly needed: number | null
  /** The number of the newest transaction; -1 if no meta page can be read. */
  readonly newest: bigint
}

function measure(file: number): Measured {
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
  return { size, needed, newest }
}

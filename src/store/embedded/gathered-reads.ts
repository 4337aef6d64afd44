// Combines reads of the journal. The batches of a partition lie between those of all other partitions, and a fetch
// reads many partitions at once. Requests of one turn of the event loop that lie close together in a file are read
// with one call. It has no cache: the operating system has one.

import type { Clock } from '../../base/clock.ts'
import { StoreUnavailable } from '../store.ts'
import { fileName, type Journal } from './journal.ts'
import { type Loan, ReadMemory } from './read-memory.ts'

/**
 * The largest gap in bytes between two pieces that are read with one call: reading the gap costs less than another
 * call.
 */
const READ_THROUGH = 16 << 10
/**
 * The most bytes of one read, unless a single request is longer. A caller that keeps a batch keeps the whole read in
 * memory.
 */
const MOST_TOGETHER = 512 << 10
/** The most bytes that one turn of the event loop reads itself: a fetch of six partitions must not block other work. */
const MOST_IN_A_TURN = 1 << 20

/** A part of a journal file. */
export interface Piece {
  readonly file: number
  readonly position: number
  readonly length: number
}

/** The request of one caller, until all its pieces are read. */
interface Request {
  readonly found: Buffer[]
  /** The memory that contains the pieces. */
  readonly loans: Set<Loan>
  waiting: number
  failure: Error | null
  settle(): void
}

/** A piece of a request, and its place in the request. */
interface Wanted {
  readonly position: number
  readonly length: number
  readonly request: Request
  readonly index: number
}

/** One read from a file, and the pieces that it serves. */
interface Together {
  readonly file: number
  readonly parts: readonly Wanted[]
  readonly position: number
  readonly length: number
}

/** The result: the bytes of each piece. */
export interface Gathered {
  readonly found: readonly Buffer[]
  /** The same as Read.release of the store port. */
  release(): void
}

export interface GatheredReads {
  /**
   * Reads each piece like Journal.read. Throws StoreUnavailable. The bytes may share memory with those of other
   * reads.
   */
  read(pieces: readonly Piece[]): Promise<Gathered>
}

export function gatherReads(journal: Journal, clock: Clock): GatheredReads {
  let wanted = new Map<number, Wanted[]>()
  let due: Together[] = []
  const memory = new ReadMemory()

  function gather(): void {
    const files = wanted
    wanted = new Map()
    for (const [file, parts] of files) {
      parts.sort((one, other) => one.position - other.position)
      for (let at = 0; at < parts.length; ) {
        const { position, length } = parts[at]!
        let end = position + length
        let next = at + 1
        for (; next < parts.length; next++) {
          const part = parts[next]!
          const last = Math.max(end, part.position + part.length)
          if (part.position - end > READ_THROUGH || last - position > MOST_TOGETHER) break
          end = last
        }
        due.push({ file, parts: parts.slice(at, next), position, length: end - position })
        at = next
      }
    }
  }

  /** Reads as much as one turn may read, and the rest in the next turns. */
  function go(): void {
    gather()
    let bytes = 0
    let count = 0
    while (count < due.length && bytes < MOST_IN_A_TURN) {
      const together = due[count++]!
      bytes += together.length
      void readTogether(together)
    }
    due = due.slice(count)
    if (due.length > 0) clock.soon(go)
  }

  async function readTogether({ file, parts, position, length }: Together): Promise<void> {
    const loan = memory.lend(length)
    let bytes: Buffer | null = null
    let failure: Error | null = null
    try {
      bytes = await journal.readInto(file, position, loan.bytes)
    } catch (error) {
      const { message } = error as Error
      failure = new StoreUnavailable(`${fileName(file)} cannot be read: ${message}`, { cause: error })
    }
    for (const { request, index, ...part } of parts) {
      const from = part.position - position
      if (!request.loans.has(loan)) {
        request.loans.add(loan)
        loan.hold()
      }
      if (bytes === null) request.failure = failure
      else request.found[index] = bytes.subarray(from, from + part.length)
      if (--request.waiting === 0) request.settle()
    }
  }

  return {
    read: pieces =>
      new Promise((resolve, reject) => {
        // The files are held at once: otherwise a file might be reused before it is read.
        const holds: (() => void)[] = []
        const letGo = () => {
          for (const letGoOfFile of holds) letGoOfFile()
        }
        try {
          for (const file of new Set(pieces.map(({ file }) => file))) holds.push(journal.hold(file))
        } catch (error) {
          letGo()
          throw error
        }
        const request: Request = {
          found: new Array<Buffer>(pieces.length),
          loans: new Set(),
          waiting: pieces.length,
          failure: null,
          settle() {
            letGo()
            const { found, loans, failure } = this
            const release = () => {
              for (const loan of loans) loan.release()
              loans.clear()
            }
            if (failure === null) resolve({ found, release })
            else reject(failure)
          },
        }
        if (pieces.length === 0) request.settle()
        else if (wanted.size === 0 && due.length === 0) clock.soon(go)
        for (const [index, { file, position, length }] of pieces.entries()) {
          const part = { position, length, request, index }
          const parts = wanted.get(file)
          if (parts === undefined) wanted.set(file, [part])
          else parts.push(part)
        }
      }),
  }
}

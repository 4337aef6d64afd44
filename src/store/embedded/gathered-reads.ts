// Reads of the journal, gathered. The batches of a partition lie scattered between those of all others, and a fetch asks
// for many partitions at once: what is asked for in one turn of the event loop and lies close together in a file is read in
// one go. It keeps nothing: there is no cache here, the operating system has one.

import type { Clock } from '../../base/clock.ts'
import type { Journal } from './journal.ts'

/** Bytes between two that are wanted, which cost less to read than a call of their own. */
const READ_THROUGH = 16 << 10
/** One read is no longer, unless one of those that asked wants more: whoever keeps a batch keeps the whole read. */
const MOST_TOGETHER = 512 << 10
/** Reads of one turn of the event loop, which may do them itself: a fetch of six partitions must not keep the others waiting. */
const MOST_IN_A_TURN = 1 << 20

interface Wanted {
  readonly position: number
  readonly length: number
  /** Lets go of the file. */
  readonly release: () => void
  readonly resolve: (bytes: Buffer) => void
  readonly reject: (error: Error) => void
}

/** One read, and who gets which part of it. */
interface Together {
  readonly file: number
  readonly parts: readonly Wanted[]
  readonly position: number
  readonly length: number
}

export interface GatheredReads {
  /** As Journal.read; the bytes may share their memory with those of other reads. */
  read(file: number, position: number, length: number): Promise<Buffer>
}

export function gatherReads(journal: Journal, clock: Clock): GatheredReads {
  let wanted = new Map<number, Wanted[]>()
  let due: Together[] = []

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

  /** Reads as much as one turn may, and the rest in the next ones. */
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
    try {
      const bytes = await journal.read(file, position, length, true)
      for (const part of parts) part.resolve(bytes.subarray(part.position - position).subarray(0, part.length))
    } catch (error) {
      for (const part of parts) part.reject(error as Error)
    } finally {
      for (const part of parts) part.release()
    }
  }

  return {
    read: (file, position, length) =>
      new Promise((resolve, reject) => {
        // From here on, or the file might be another by the time it is read.
        const release = journal.hold(file)
        if (wanted.size === 0 && due.length === 0) clock.soon(go)
        const parts = wanted.get(file)
        const part = { position, length, release, resolve, reject }
        if (parts === undefined) wanted.set(file, [part])
        else parts.push(part)
      }),
  }
}

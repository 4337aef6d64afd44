// Reads the journal after a start, from the checkpoint on, and finds its rounds, its torn tail and its damage. It
// only reads, through an interface that tests can implement, and decides nothing about streams.
//
// Bytes that do not parse as a round are one of three things. Nothing: zeros, or a former use of the file. A torn
// tail: the store stopped while it wrote the round. The round lies above every position that a later round records as
// synced, and no caller got an answer for it. It is cut with everything behind it. Damage: a later round records that
// the round was on the disk. Then the search continues, and the rounds after it are kept. If only the header of a
// round is damaged, the round is restored, because its entries and batches have their own CRCs. Any other hole is
// reported.

import {
  batchesOf,
  decodeEntries,
  decodeLeadingEntries,
  decodeRoundHeader,
  type Entry,
  FIRST_ROUND,
  findRound,
  isIntact,
  payloadBytesOf,
  ROUND_HEADER_BYTES,
  type RoundHeader,
} from './entry.ts'

export interface SourceFile {
  readonly number: number
  /** Null if the file was never begun or its header is damaged. */
  readonly incarnation: Buffer | null
  readonly size: number
  /** Reads `length` bytes; fewer at the end of the file. */
  read(position: number, length: number): Promise<Buffer>
}

export interface From {
  readonly file: number
  readonly position: number
  /** The sequence of the last round before this position. */
  readonly sequence: number
  /**
   * The era of the start that stored this position. A round of an older era behind it is the rest of a torn tail that
   * was cut.
   */
  readonly era: number
}

export interface RecoveredRound {
  readonly file: number
  readonly position: number
  /** The position of the batches' bytes. */
  readonly payload: number
  readonly sequence: number
  readonly entries: readonly Entry[]
  /** False if some entries could not be read. */
  readonly intact: boolean
  /** The number of entries that could not be read, and the bytes of their payload. */
  readonly lostEntries: number
  readonly lostPayload: number
}

export interface Hole {
  readonly file: number
  readonly position: number
  /** The number of missing rounds, by the sequence numbers. */
  readonly rounds: number
}

export interface Recovery {
  /** The position of the next round. */
  readonly end: From
  /** The bytes of rounds that were cut as a torn tail. */
  readonly cutBytes: number
  readonly holes: readonly Hole[]
  /** The rounds of which only the header was damaged. */
  readonly mended: readonly RecoveredRound[]
}

interface Found {
  readonly file: SourceFile
  readonly position: number
  readonly header: RoundHeader
  /** The hole before this round, or null. */
  readonly hole: Hole | null
}

const WINDOW = 1 << 20
/** The most bytes of padding: a round ends at the next page boundary at the latest. */
const LONGEST_PADDING = 4096

/** Calls `visit` for every valid round in order. Calls `lost` before the round that follows a hole. */
export async function recover(
  files: readonly SourceFile[],
  from: From,
  visit: (round: RecoveredRound) => void,
  lost: (hole: Hole) => void,
): Promise<Recovery> {
  const found: Found[] = []
  let { era, sequence } = from
  let end: Omit<From, 'era'> = from
  let hole: Hole | null = null
  const missing = (file: number, position: number): void => {
    hole ??= { file, position, rounds: 0 }
  }

  const ordered = files.filter(file => file.number >= from.file).sort((a, b) => a.number - b.number)
  if (ordered[0]?.number !== from.file) missing(from.file, from.position)
  for (const [i, file] of ordered.entries()) {
    const window = windowOf(file)
    let position = file.number === from.file ? from.position : FIRST_ROUND
    if (file.incarnation === null) {
      if (i < ordered.length - 1 || file.number === from.file) missing(file.number, position)
      continue
    }
    for (;;) {
      const head = await window.at(position, ROUND_HEADER_BYTES)
      const header = decodeRoundHeader(head, file.incarnation)
      // A round of an older era is the rest of a torn tail that was cut.
      if (header !== null && header.era >= era && header.sequence > sequence) {
        if (header.sequence !== sequence + 1) missing(end.file, end.position)
        const before = hole as Hole | null
        found.push({
          file,
          position,
          header,
          hole: before === null ? null : { ...before, rounds: header.sequence - sequence - 1 },
        })
        hole = null
        era = header.era
        sequence = header.sequence
        position += header.roundBytes
        end = { file: file.number, position, sequence }
        continue
      }
      // The file was prepared and never written to.
      if (position === FIRST_ROUND && file.number !== from.file && head.every(byte => byte === 0)) break
      const next: number = await findNext(file, file.incarnation, position + 1, sequence, era)
      if (next < 0) break
      missing(file.number, position)
      position = next
    }
  }

  // Everything below the last position that a round records as synced was on the disk.
  let syncedFile = from.file
  let syncedPosition = from.position
  for (const { header } of found) {
    if (!isBefore(syncedFile, syncedPosition, header.syncedFile, header.syncedPosition)) continue
    syncedFile = header.syncedFile
    syncedPosition = header.syncedPosition
  }

  const holes: Hole[] = []
  const mended: RecoveredRound[] = []
  let last: Omit<From, 'era'> = from
  let cut = found.length
  for (const [i, { file, position, header, hole: before }] of found.entries()) {
    if (before !== null) {
      if (!isBefore(before.file, before.position, syncedFile, syncedPosition)) {
        cut = i
        break
      }
      const round = await mend(before, file, position, header.sequence - 1)
      if (round === null) {
        holes.push(before)
        lost(before)
      } else {
        mended.push(round)
        visit(round)
        last = { file: file.number, position, sequence: round.sequence }
      }
    }
    const bytes = await file.read(position + ROUND_HEADER_BYTES, header.entryBytes)
    const { entries, intact } = decodeEntries(bytes, header, file.incarnation!)
    const payload = position + ROUND_HEADER_BYTES + header.entryBytes
    const proven = isBefore(file.number, position, syncedFile, syncedPosition)
    if (!proven && !(intact && (await isWhole(file, payload, entries)))) {
      cut = i
      break
    }
    visit({
      file: file.number,
      position,
      payload,
      sequence: header.sequence,
      entries,
      intact,
      lostEntries: header.entries - entries.length,
      lostPayload: header.payloadBytes - payloadBytesOf(entries),
    })
    last = { file: file.number, position: position + header.roundBytes, sequence: header.sequence }
  }
  let cutBytes = 0
  for (const { header } of found.slice(cut)) cutBytes += header.roundBytes
  return { end: { ...last, era }, cutBytes, holes, mended }
}

/**
 * Returns the round before `next` if only its header is damaged: its bytes must fill the space up to `next`, except
 * for padding.
 */
async function mend(hole: Hole, file: SourceFile, next: number, sequence: number): Promise<RecoveredRound | null> {
  if (hole.rounds !== 1 || hole.file !== file.number) return null
  const bytes = (await file.read(hole.position, next - hole.position)).subarray(ROUND_HEADER_BYTES)
  const { entries, length } = decodeLeadingEntries(bytes, sequence, file.incarnation!)
  const payload = hole.position + ROUND_HEADER_BYTES + length
  const padding = bytes.subarray(length + payloadBytesOf(entries))
  if (entries.length === 0 || padding.length >= LONGEST_PADDING || padding.some(byte => byte !== 0)) return null
  if (!(await isWhole(file, payload, entries))) return null
  const { position } = hole
  return { file: file.number, position, payload, sequence, entries, intact: true, lostEntries: 0, lostPayload: 0 }
}

function isBefore(file: number, position: number, otherFile: number, otherPosition: number): boolean {
  return file < otherFile || (file === otherFile && position < otherPosition)
}

/** Resolves to true if all batches of a round's payload exist and are undamaged. */
async function isWhole(file: SourceFile, payload: number, entries: readonly Entry[]): Promise<boolean> {
  let position = payload
  for (const entry of entries) {
    for (const mark of batchesOf(entry)) {
      if (!isIntact(mark, await file.read(position, mark.length))) return false
      position += mark.length
    }
  }
  return true
}

/** Resolves to the position of the next round above `sequence` and not below `era`, or -1. */
async function findNext(
  file: SourceFile,
  incarnation: Buffer,
  from: number,
  sequence: number,
  era: number,
): Promise<number> {
  let position = from
  while (position + ROUND_HEADER_BYTES <= file.size) {
    const bytes = await file.read(position, WINDOW)
    if (bytes.length < ROUND_HEADER_BYTES) return -1
    for (let at = 0; ; at++) {
      at = findRound(bytes, incarnation, at)
      if (at < 0) break
      const header = decodeRoundHeader(await file.read(position + at, ROUND_HEADER_BYTES), incarnation)
      if (header !== null && header.sequence > sequence && header.era >= era) return position + at
    }
    if (bytes.length < WINDOW) return -1
    position += bytes.length - ROUND_HEADER_BYTES
  }
  return -1
}

/**
 * Returns a reader that reads ahead, so that many small rounds need few reads. It reads little if large rounds are
 * skipped.
 */
export function windowOf(file: Pick<SourceFile, 'read'>): { at(position: number, length: number): Promise<Buffer> } {
  let start = 0
  let bytes: Buffer = Buffer.alloc(0)
  return {
    async at(position, length) {
      if (position < start || position + length > start + bytes.length) {
        const isPassing = position > start + bytes.length
        start = position
        bytes = await file.read(position, Math.max(length, isPassing ? 4 << 10 : 64 << 10))
      }
      return bytes.subarray(position - start, position - start + length)
    },
  }
}

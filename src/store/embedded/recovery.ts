// Reading the journal back after a start: from the checkpoint on, which rounds are there, what was torn, what is
// damaged. It only reads, through a face that a test can put bytes behind, and decides nothing about streams.
//
// A round that does not parse is one of three things. Nothing: zeros, or a former use of the file. A torn tail: the
// crash met it while it was being written; it lies above every position that a later round calls synced, no caller was
// told of it, and it is cut together with whatever follows. Damage: some later round says that it was on the disk. Then
// the rounds after it are looked for and kept. A round whose header alone is damaged is put together again, since its
// entries and batches vouch for themselves; any other hole is reported.

import {
  type BatchMark,
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
  /** Null when the file was never begun or its header is damaged. */
  readonly incarnation: Buffer | null
  readonly size: number
  /** Up to `length` bytes; fewer at the end of the file. */
  read(position: number, length: number): Promise<Buffer>
}

export interface From {
  readonly file: number
  readonly position: number
  /** The sequence of the last round before this place. */
  readonly sequence: number
  /**
   * Of the start that noted this place: a round of an older one behind it is what a torn tail that was cut left there.
   */
  readonly era: number
}

export interface RecoveredRound {
  readonly file: number
  readonly position: number
  /** Where the batches' bytes begin. */
  readonly payload: number
  readonly sequence: number
  readonly entries: readonly Entry[]
  /** False if some entries could not be read. */
  readonly intact: boolean
  /** Entries that could not be read, and the bytes of payload that they describe. */
  readonly lostEntries: number
  readonly lostPayload: number
}

export interface Hole {
  readonly file: number
  readonly position: number
  /** How many rounds are missing, by their sequence numbers. */
  readonly rounds: number
}

export interface Recovery {
  /** Where the next round goes. */
  readonly end: From
  /** Bytes of rounds that were cut as a torn tail. */
  readonly cutBytes: number
  readonly holes: readonly Hole[]
  /** Rounds whose header was damaged, and nothing else. */
  readonly mended: readonly RecoveredRound[]
}

interface Found {
  readonly file: SourceFile
  readonly position: number
  readonly header: RoundHeader
  /** Rounds are missing before this one. */
  readonly hole: Hole | null
}

const WINDOW = 1 << 20
/** A round ends on a page at the latest. */
const LONGEST_PADDING = 4096

/** Calls `visit` for every valid round, in order, and `lost` before the round that follows a hole. */
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
      // Of an older era: what a torn tail that was cut left behind.
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
      // A file that was prepared and never written to.
      if (position === FIRST_ROUND && file.number !== from.file && head.every(byte => byte === 0)) break
      const next: number = await findNext(file, file.incarnation, position + 1, sequence, era)
      if (next < 0) break
      missing(file.number, position)
      position = next
    }
  }

  // Everything below the last place that any round calls synced was on the disk.
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

/** The round before `next` if only its header is damaged: the bytes between must fill the place up to its padding. */
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

/** Whether all batches of a round's payload are there and undamaged. */
async function isWhole(file: SourceFile, payload: number, entries: readonly Entry[]): Promise<boolean> {
  let position = payload
  for (const entry of entries) {
    if (entry.type !== 'append' && entry.type !== 'move') continue
    for (const mark of entry.batches as readonly BatchMark[]) {
      if (!isIntact(mark, await file.read(position, mark.length))) return false
      position += mark.length
    }
  }
  return true
}

/** The position of the next round above `sequence` and not below `era`, or -1. */
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

/** Reads ahead, so that many small rounds cost few reads, and little where large ones are passed over. */
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

// The rewrites of a stream that no checkpoint has written to lmdb yet. A piece lies over everything that the index has
// in its range, and over the pieces before it. A call is decided with all pieces, a reader sees those of acknowledged
// rounds only: they are the first ones, because rounds are acknowledged in order.

import { firstIndex } from '../../base/bisect.ts'
import { bytesBelow, type Run } from './run-index.ts'

/** A part of a stream, at the limits of runs, and the runs that are in it. */
export interface Range {
  readonly from: number
  readonly to: number
  /** In offset order. Runs that the rewrite only touched are here with the batches that they keep. */
  readonly runs: readonly Run[]
}

export interface Piece extends Range {
  /** The runs that the rewrite wrote to the journal. */
  readonly written: readonly Run[]
}

export class Pieces {
  readonly #all: Piece[] = []
  #shown = 0
  #storing = 0
  #decided: Range[] | null = []
  #visible: Range[] | null = []

  get all(): readonly Piece[] {
    return this.#all
  }

  /** The ranges of all pieces, in offset order without overlap. */
  get decided(): readonly Range[] {
    this.#decided ??= flattened(this.#all)
    return this.#decided
  }

  /** The same, of the pieces that readers may see. */
  get visible(): readonly Range[] {
    this.#visible ??= flattened(this.#all.slice(0, this.#shown))
    return this.#visible
  }

  add(piece: Piece): void {
    const { decided } = this
    this.#all.push(piece)
    this.#decided = covered(decided, piece)
  }

  /** Takes back the piece that was added last. */
  takeBack(): void {
    this.#all.pop()
    this.#decided = null
  }

  /** Shows the next piece to readers. */
  show(): void {
    const { visible } = this
    this.#visible = covered(visible, this.#all[this.#shown++]!)
  }

  /** Notes that a checkpoint is writing all pieces that exist now. */
  store(): void {
    this.#storing = this.#all.length
  }

  /** Forgets the pieces that the checkpoint has written, and returns them. */
  stored(): readonly Piece[] {
    const gone = this.#all.splice(0, this.#storing)
    this.#shown -= gone.length
    this.#storing = 0
    this.#decided = null
    this.#visible = null
    return gone
  }

  /** Notes that the checkpoint could not be written. */
  abandoned(): void {
    this.#storing = 0
  }
}

function flattened(pieces: readonly Piece[]): Range[] {
  let ranges: readonly Range[] = []
  for (const piece of pieces) ranges = covered(ranges, piece)
  return [...ranges]
}

/** Returns the ranges with one more over them. The pieces of a pass follow each other, so mostly it is the last. */
function covered(ranges: readonly Range[], range: Range): Range[] {
  const last = ranges.at(-1)
  if (last === undefined || last.to <= range.from) return [...ranges, range]
  const result: Range[] = []
  let isPlaced = false
  const place = () => {
    if (!isPlaced) result.push(range)
    isPlaced = true
  }
  for (const each of ranges) {
    const { from, to, runs } = each
    if (to <= range.from) {
      result.push(each)
      continue
    }
    if (from < range.from)
      result.push({ from, to: range.from, runs: runs.filter(({ nextOffset }) => nextOffset <= range.from) })
    if (from >= range.to) {
      place()
      result.push(each)
    } else if (to > range.to) {
      place()
      result.push({ from: range.to, to, runs: runs.filter(({ baseOffset }) => baseOffset >= range.to) })
    }
  }
  place()
  return result
}

/** Yields the runs from the offset on: those of the ranges, and between them those of `below`. */
export function* overlaid(
  ranges: readonly Range[],
  below: (from: number) => Iterable<Run>,
  offset: number,
): Generator<Run> {
  let at = offset
  for (let i = firstAbove(ranges, offset); i < ranges.length; i++) {
    const { from, to, runs } = ranges[i]!
    if (from > at) {
      for (const run of below(at)) {
        if (run.baseOffset >= from) break
        yield run
      }
    }
    for (const run of runs) if (run.nextOffset > offset) yield run
    at = Math.max(at, to)
  }
  yield* below(at)
}

/** Returns true if the offset lies in one of the ranges. */
export function isCovered(ranges: readonly Range[], offset: number): boolean {
  const range = ranges[firstAbove(ranges, offset)]
  return range !== undefined && range.from <= offset
}

/** Returns the index of the first range that ends above the offset. */
function firstAbove(ranges: readonly Range[], offset: number): number {
  return firstIndex(ranges, ({ to }) => to > offset)
}

/** Returns the batches of a run that end at or below the offset; null if it has none. */
export function runBelow(run: Run, offset: number): Run | null {
  if (run.nextOffset <= offset) return run
  const length = bytesBelow(run, offset)
  if (length === 0) return null
  const ends = run.ends!.filter(({ nextOffset }) => nextOffset <= offset)
  return { ...run, nextOffset: ends.at(-1)!.nextOffset, length, ends: severalOf(ends), storing: false }
}

/** Returns the batches of a run that end above the offset, where a batch begins; null if it has none. */
export function runAbove(run: Run, offset: number): Run | null {
  if (run.nextOffset <= offset) return null
  const cut = bytesBelow(run, offset)
  if (cut === 0) return run
  const ends = run.ends!.filter(({ nextOffset }) => nextOffset > offset)
  return {
    ...run,
    baseOffset: offset,
    length: run.length - cut,
    before: run.before + cut,
    ends: severalOf(ends.map(({ nextOffset, end }) => ({ nextOffset, end: end - cut }))),
    position: run.position + cut,
    storing: false,
  }
}

function severalOf<T>(ends: readonly T[]): readonly T[] | null {
  return ends.length === 1 ? null : ends
}

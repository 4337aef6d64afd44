// Writes the answers of one connection to its transport. It gathers them until the end of the turn, and joins small
// ones. It writes a few at a time, so that their memory is freed as the client takes them, even if the client is
// slow. This file knows only bytes; connection.ts keeps the order of the answers.

import type { Transport } from './transport.ts'

/** One answer, encoded. */
export interface EncodedAnswer {
  readonly parts: readonly Uint8Array[]
  readonly byteLength: number
  /** Called when the network has taken the whole answer. */
  readonly onSent: (() => void) | null
}

/**
 * The most runs that were passed to the transport and that the network has not taken: one is being written, and one
 * follows it.
 */
const WINDOW_RUNS = 2

/**
 * Neighbouring pieces smaller than this are joined before they are written, because a piece costs more than copying
 * it.
 */
const SMALL_PIECE_BYTES = 2048

/** The answers that one call writes. */
interface Run {
  readonly pieces: Uint8Array[]
  bytes: number
  /** The number of answers whose last byte is in this run. */
  answers: number
  /** The `onSent` callbacks of these answers. */
  readonly told: (() => void)[]
}

/** The callbacks for the connection. */
export interface OutgoingTold {
  /** The network has taken this number of bytes, and with them the end of this number of answers. */
  sent(bytes: number, answers: number): void
  /** The network did not take the bytes at once. */
  behind(): void
}

export class Outgoing {
  readonly #transport: Transport
  readonly #told: OutgoingTold
  #gathered: EncodedAnswer[] = []
  /** Runs that were not yet passed to the transport. */
  #runs: Run[] = []
  /** The bytes of runs that were passed to the transport and that the network has not taken completely. */
  #handedBytes = 0
  /** The number of answers that are gathered, waiting or passed to the transport. */
  #answers = 0
  #isStopped = false

  constructor(transport: Transport, told: OutgoingTold) {
    this.#transport = transport
    this.#told = told
  }

  /** The number of answers that the network has not taken completely. */
  get answers(): number {
    return this.#answers
  }

  add(answer: EncodedAnswer): void {
    if (this.#gathered.push(answer) === 1) process.nextTick(this.#flush)
    this.#answers++
  }

  /** Drops all answers, because the transport is closed. */
  stop(): void {
    this.#isStopped = true
    this.#gathered = []
    this.#runs = []
  }

  readonly #flush = (): void => {
    if (this.#isStopped) return
    const { runBytes } = this.#transport
    let run = newRun()
    for (const { parts, onSent } of this.#gathered) {
      for (const part of parts) {
        for (let at = 0; at < part.byteLength; at += runBytes) {
          const piece = part.byteLength <= runBytes ? part : part.subarray(at, at + runBytes)
          if (run.bytes > 0 && run.bytes + piece.byteLength > runBytes) {
            this.#runs.push(run)
            run = newRun()
          }
          run.pieces.push(piece)
          run.bytes += piece.byteLength
        }
      }
      run.answers++
      if (onSent !== null) run.told.push(onSent)
    }
    this.#runs.push(run)
    this.#gathered = []
    this.#write()
  }

  #write(): void {
    while (this.#runs.length > 0) {
      if (this.#handedBytes > 0 && this.#handedBytes + this.#runs[0]!.bytes > WINDOW_RUNS * this.#transport.runBytes)
        return
      this.#hand(this.#runs.shift()!)
    }
  }

  /** Writes a run with one system call. */
  #hand({ pieces, bytes, answers, told }: Run): void {
    this.#handedBytes += bytes
    this.#transport.write(join(pieces), error => {
      if (error || this.#isStopped) return
      this.#handedBytes -= bytes
      this.#answers -= answers
      for (const tell of told) tell()
      this.#write()
      this.#told.sent(bytes, answers)
    })
    if (this.#transport.isBehind) this.#told.behind()
  }
}

function newRun(): Run {
  return { pieces: [], bytes: 0, answers: 0, told: [] }
}

/** Joins neighbouring small pieces. Large pieces are not copied. */
function join(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  if (pieces.length === 1) return pieces
  const joined: Uint8Array[] = []
  let from = 0
  for (let at = 0; at <= pieces.length; at++) {
    if (at < pieces.length && pieces[at]!.byteLength < SMALL_PIECE_BYTES) continue
    if (at - from === 1) joined.push(pieces[from]!)
    else if (at > from) joined.push(Buffer.concat(pieces.slice(from, at)))
    if (at < pieces.length) joined.push(pieces[at]!)
    from = at + 1
  }
  return joined
}

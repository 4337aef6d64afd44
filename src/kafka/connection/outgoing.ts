// The answers of one connection on their way to the network: gathered until the end of the turn, joined where they are small,
// and written a few at a time, so that a client that takes them slowly gives back their memory as it does. It knows bytes only; in
// which order requests are answered is connection.ts's business.

import type { Socket } from 'node:net'

/** One answer, encoded. */
export interface EncodedAnswer {
  readonly parts: readonly Uint8Array[]
  readonly byteLength: number
  /** To be called once the network has taken all of it. */
  readonly onSent: (() => void) | null
}

/** Written at once at most: an answer of 1 MiB goes in one piece. */
const RUN_BYTES = 2 << 20

/** Handed to the socket and not taken by the network: one run that is written, and one to follow it. */
const WINDOW_BYTES = 2 * RUN_BYTES

/** Neighbouring pieces smaller than this are joined before they are written: a piece costs more than copying it. */
const SMALL_PIECE_BYTES = 2048

/** The answers that one call writes. */
interface Run {
  readonly pieces: Uint8Array[]
  bytes: number
  /** Answers whose last byte is in it. */
  answers: number
  /** Called when those are out. */
  readonly told: (() => void)[]
}

/** Node does not document these fields of a socket; its own timeouts of sockets read them too. */
interface Inner {
  readonly _handle: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
}

/** The connection, as it is told of its answers. */
export interface OutgoingTold {
  /** So many bytes are out, and so many answers end in them. */
  sent(bytes: number, answers: number): void
  /** The network did not take at once what it was given. */
  behind(): void
}

export class Outgoing {
  readonly #socket: Socket
  readonly #told: OutgoingTold
  #gathered: EncodedAnswer[] = []
  /** Not handed to the socket. */
  #runs: Run[] = []
  /** Handed to the socket, and not taken by the network as a whole. */
  #handedBytes = 0
  /** Answers that are gathered, wait or are handed over. */
  #answers = 0
  #takenBytes = 0
  #isStopped = false

  constructor(socket: Socket, told: OutgoingTold) {
    this.#socket = socket
    this.#told = told
  }

  /** Answers that are not out yet. */
  get answers(): number {
    return this.#answers
  }

  /** Bytes that the network has taken, to the byte. */
  get takenBytes(): number {
    const { _handle: handle } = this.#socket as unknown as Inner
    if (handle) this.#takenBytes = handle.bytesWritten - handle.writeQueueSize
    return this.#takenBytes
  }

  add(answer: EncodedAnswer): void {
    if (this.#gathered.push(answer) === 1) process.nextTick(this.#flush)
    this.#answers++
  }

  /** Lets go of everything; the socket is gone. */
  stop(): void {
    this.#isStopped = true
    this.#gathered = []
    this.#runs = []
  }

  readonly #flush = (): void => {
    if (this.#isStopped) return
    let run = newRun()
    for (const { parts, onSent } of this.#gathered) {
      for (const part of parts) {
        for (let at = 0; at < part.byteLength; at += RUN_BYTES) {
          const piece = part.byteLength <= RUN_BYTES ? part : part.subarray(at, at + RUN_BYTES)
          if (run.bytes > 0 && run.bytes + piece.byteLength > RUN_BYTES) {
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
      if (this.#handedBytes > 0 && this.#handedBytes + this.#runs[0]!.bytes > WINDOW_BYTES) return
      this.#hand(this.#runs.shift()!)
    }
  }

  /** Writes a run with one call to the system. */
  #hand({ pieces, bytes, answers, told }: Run): void {
    this.#handedBytes += bytes
    const joined = join(pieces)
    const last = joined.length - 1
    if (last > 0) this.#socket.cork()
    for (let i = 0; i < last; i++) this.#socket.write(joined[i]!)
    this.#socket.write(joined[last]!, error => {
      if (error || this.#isStopped) return
      this.#handedBytes -= bytes
      this.#answers -= answers
      for (const tell of told) tell()
      this.#write()
      this.#told.sent(bytes, answers)
    })
    if (last > 0) this.#socket.uncork()
    if (this.#socket.writableLength > 0) this.#told.behind()
  }
}

function newRun(): Run {
  return { pieces: [], bytes: 0, answers: 0, told: [] }
}

/** Joins runs of small pieces; large ones stay the slices that they are. */
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

// Commands as Redis reads them: each an array of bulk strings (RESP 2). The pieces of many commands of a turn go
// into as few pieces as can be, because each piece of a write costs more than the bytes of a small one. It knows no
// socket.
//
//   *3\r\n $3\r\nSET\r\n $1\r\nk\r\n $5000\r\n  |  5000 bytes  |  \r\n *1\r\n $4\r\nEXEC\r\n
//   '------------ copied: a piece -----------'    as they are     '-- copied: the next piece --'

import type { Argument } from './links.ts'
import { CR, DOLLAR, LF, STAR, ZERO } from './resp.ts'

/** From this size on a separate piece costs less than a copy. */
const UNCOPIED_BYTES = 4096
/** Text that is no longer is copied letter by letter, which beats a call out of JavaScript. */
const SHORT_TEXT = 64
/** The bytes that are copied in one turn lie there, unless they are more. */
const MEMORY_BYTES = 64 * 1024
/** `$`, ten digits, and twice `\r\n`. */
const FRAME_BYTES = 16

export class CommandWriter {
  #memory = Buffer.allocUnsafeSlow(MEMORY_BYTES)
  /** Where the piece that is being written begins, and where its next byte goes. */
  #from = 0
  #at = 0
  #pieces: Uint8Array[] = []

  add(command: readonly Argument[]): void {
    this.#makeRoom(FRAME_BYTES)
    this.#writeHead(STAR, command.length)
    // An iterator would be all the garbage that a command makes here.
    for (let at = 0; at < command.length; at++) {
      const argument = command[at]!
      if (typeof argument === 'string') this.#addText(argument)
      else this.#addBytes(argument)
    }
  }

  /**
   * All that was added since the last time, in order. The pieces lie in memory that is written over after reuse(), or
   * are the arguments themselves.
   */
  take(): readonly Uint8Array[] {
    this.#endPiece()
    const pieces = this.#pieces
    this.#pieces = []
    return pieces
  }

  /** The bytes that were taken are no longer read, and nothing was added since. */
  reuse(): void {
    this.#from = 0
    this.#at = 0
  }

  #addText(text: string): void {
    if (text.length > SHORT_TEXT || !this.#copyLetters(text)) this.#addBytes(Buffer.from(text))
  }

  /** False, with nothing added, where a letter takes more than a byte. */
  #copyLetters(text: string): boolean {
    this.#makeRoom(text.length + FRAME_BYTES)
    const began = this.#at
    this.#writeHead(DOLLAR, text.length)
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code > 0x7f) {
        this.#at = began
        return false
      }
      this.#memory[this.#at++] = code
    }
    this.#writeEnd()
    return true
  }

  #addBytes(bytes: Uint8Array): void {
    const isCopied = bytes.length < UNCOPIED_BYTES
    this.#makeRoom(FRAME_BYTES + (isCopied ? bytes.length : 0))
    this.#writeHead(DOLLAR, bytes.length)
    if (isCopied) {
      this.#memory.set(bytes, this.#at)
      this.#at += bytes.length
    } else {
      this.#endPiece()
      this.#pieces.push(bytes)
    }
    this.#writeEnd()
  }

  #makeRoom(bytes: number): void {
    if (this.#at + bytes <= this.#memory.length) return
    this.#endPiece()
    this.#memory = Buffer.allocUnsafeSlow(MEMORY_BYTES)
    this.#from = 0
    this.#at = 0
  }

  #endPiece(): void {
    if (this.#at > this.#from) this.#pieces.push(this.#memory.subarray(this.#from, this.#at))
    this.#from = this.#at
  }

  #writeHead(kind: number, count: number): void {
    let digits = 1
    for (let rest = count; rest > 9; rest = Math.trunc(rest / 10)) digits++
    this.#memory[this.#at] = kind
    for (let at = this.#at + digits, rest = count; at > this.#at; at--, rest = Math.trunc(rest / 10))
      this.#memory[at] = ZERO + (rest % 10)
    this.#at += 1 + digits
    this.#writeEnd()
  }

  #writeEnd(): void {
    this.#memory[this.#at++] = CR
    this.#memory[this.#at++] = LF
  }
}

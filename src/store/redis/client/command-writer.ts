// Encodes commands for Redis, each as an array of bulk strings (RESP 2). It joins the parts of all commands of a turn
// into as few pieces as possible, because each piece of a write costs more than copying a small argument. It does not
// know the socket.
//
//   *3\r\n $3\r\nSET\r\n $1\r\nk\r\n $5000\r\n  |  5000 bytes  |  \r\n *1\r\n $4\r\nEXEC\r\n
//   '------------ copied: a piece -----------'    as they are     '-- copied: the next piece --'

import type { Argument } from './links.ts'
import { CR, DOLLAR, LF, STAR, ZERO } from './resp.ts'

/** The size in bytes from which a separate piece costs less than a copy. */
const UNCOPIED_BYTES = 4096
/**
 * The longest text, in characters, that is copied character by character: for short text that is faster than a call
 * out of JavaScript.
 */
const SHORT_TEXT = 64
/** The size in bytes of the memory for copies. Copies of one turn that do not fit get new memory. */
const MEMORY_BYTES = 64 * 1024
/** `$`, ten digits, and twice `\r\n`. */
const FRAME_BYTES = 16

export class CommandWriter {
  #memory = Buffer.allocUnsafeSlow(MEMORY_BYTES)
  /** The start of the current piece in the memory, and the position of the next byte. */
  #from = 0
  #at = 0
  #pieces: Uint8Array[] = []

  add(command: readonly Argument[]): void {
    this.#makeRoom(FRAME_BYTES)
    this.#writeHead(STAR, command.length)
    // There is no iterator here, because it would be the only garbage of a command.
    for (let at = 0; at < command.length; at++) {
      const argument = command[at]!
      if (typeof argument === 'string') this.#addText(argument)
      else this.#addBytes(argument)
    }
  }

  /**
   * Returns the pieces that were added since the last call, in order. A piece is either an argument itself or memory
   * that is overwritten after reuse().
   */
  take(): readonly Uint8Array[] {
    this.#endPiece()
    const pieces = this.#pieces
    this.#pieces = []
    return pieces
  }

  /** Makes the memory free again. The caller no longer reads the pieces that it took, and has added nothing since. */
  reuse(): void {
    this.#from = 0
    this.#at = 0
  }

  #addText(text: string): void {
    if (text.length > SHORT_TEXT || !this.#copyLetters(text)) this.#addBytes(Buffer.from(text))
  }

  /** Adds the text. Returns false, and adds nothing, if a character takes more than one byte. */
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

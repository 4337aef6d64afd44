// The user's side of a command: its output, its questions and the variables of its environment. main.ts passes those of
// the process; a test passes strings.

import { createInterface } from 'node:readline/promises'
import { addAbortSignal, type Readable, Writable } from 'node:stream'
import { CommandFailed, EXIT } from './exit-status.ts'

export interface Terminal {
  /** Writes the result. */
  out(text: string): void
  /** Writes a part of a long result. Resolves when it is written. */
  write(bytes: Uint8Array): Promise<void>
  /** The standard input: a pipe, or the keyboard until Ctrl-D. */
  input(): AsyncIterable<Uint8Array>
  /** Writes warnings, questions and progress. */
  err(text: string): void
  /** True if `err` goes to a terminal, where a line can be overwritten. */
  readonly isWatched: boolean
  /** True if `out` goes to a terminal. */
  readonly isOutSeen: boolean
  variable(name: Variable): string | undefined
  /**
   * Asks the user and resolves with the answer; null without a terminal. The terminal does not show a secret while
   * the user types it.
   */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string | null>
  /** Aborts at Ctrl-C. */
  readonly interrupted: AbortSignal
}

/** The variables of the environment that the command line reads. */
export type Variable = 'KETCH_URL' | 'KETCH_USER' | 'KETCH_PASSWORD' | 'KETCH_NEW_PASSWORD' | 'KETCH_CA_FILE'

export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable & { readonly isTTY?: boolean }
}

/** Opens the terminal of this process while the standard input is a pipe; null if the process has no terminal. */
export type OpenKeyboard = () => Readable | null

/** Returns the terminal of these streams. */
export function terminalOf(
  { stdin, stdout, stderr }: Streams,
  environment: Readonly<Record<string, string | undefined>>,
  interrupted: AbortSignal,
  openKeyboard: OpenKeyboard = () => null,
): Terminal {
  const keyboard = () => (stderr.isTTY !== true ? null : stdin.isTTY === true ? stdin : openKeyboard())
  return {
    out: text => void stdout.write(text),
    // If no process reads the pipe, the program that opened it must handle that.
    write: bytes => new Promise(resolve => stdout.write(bytes, () => resolve())),
    async *input() {
      try {
        yield* addAbortSignal(interrupted, stdin)
      } catch (error) {
        if (!interrupted.aborted) throw error
        throw new CommandFailed(EXIT.INTERRUPTED, 'interrupted', { cause: error })
      }
    },
    err: text => void stderr.write(text),
    isWatched: stderr.isTTY === true,
    isOutSeen: stdout.isTTY === true,
    variable: name => environment[name],
    interrupted,
    async ask(question, { isSecret = false } = {}) {
      const input = keyboard()
      if (input === null) return null
      const echo = new Writable({
        write(chunk: Buffer, _encoding, done) {
          if (!isSecret) stderr.write(chunk)
          done()
        },
      })
      // From here on the terminal does not show what the user types. This must come before the question, which
      // invites the user to type.
      const lines = createInterface({ input, output: echo, terminal: true })
      stderr.write(question)
      try {
        return await new Promise<string | null>((resolve, reject) => {
          lines.on('SIGINT', () => reject(new CommandFailed(EXIT.INTERRUPTED, 'interrupted')))
          lines.on('close', () => resolve(null))
          lines.question('').then(resolve, reject)
        })
      } finally {
        lines.close()
        if (input !== stdin) input.destroy()
        stderr.write(isSecret ? '\n' : '')
      }
    },
  }
}

// Whoever sits in front of a command: where its output goes, what is asked, which variables are set. main.ts gives it the
// process's own; a test gives it strings.

import { createInterface } from 'node:readline/promises'
import { addAbortSignal, type Readable, Writable } from 'node:stream'
import { CommandFailed, EXIT } from './exit-status.ts'

export interface Terminal {
  /** What was asked for. */
  out(text: string): void
  /** The same, of which there may be much: to be waited for. */
  write(bytes: Uint8Array): Promise<void>
  /** What is piped in, or typed until Ctrl-D. */
  input(): AsyncIterable<Uint8Array>
  /** What is said about it: warnings, questions, progress. */
  err(text: string): void
  /** Whether somebody is there to be asked. */
  readonly isInteractive: boolean
  /** Whether somebody sees what is said, so that a line may change. */
  readonly isWatched: boolean
  /** Whether it is a terminal that what was asked for goes to. */
  readonly isOutSeen: boolean
  variable(name: Variable): string | undefined
  /** The answer; null where nobody is there. A secret is not shown while it is typed. */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string | null>
  /** Aborts at Ctrl-C. */
  readonly interrupted: AbortSignal
}

/** The variables of the environment that the command line reads. */
export type Variable = 'KETCH_URL' | 'KETCH_USER' | 'KETCH_PASSWORD' | 'KETCH_NEW_PASSWORD'

export interface Streams {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly isTTY?: boolean }
  readonly stderr: Writable & { readonly isTTY?: boolean }
}

/** The terminal that these streams are. */
export function terminalOf(
  { stdin, stdout, stderr }: Streams,
  environment: Readonly<Record<string, string | undefined>>,
  interrupted: AbortSignal,
): Terminal {
  const isInteractive = stdin.isTTY === true && stderr.isTTY === true
  return {
    out: text => void stdout.write(text),
    // What becomes of a pipe that nobody reads is the business of whoever owns it.
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
    isInteractive,
    isWatched: stderr.isTTY === true,
    isOutSeen: stdout.isTTY === true,
    variable: name => environment[name],
    interrupted,
    async ask(question, { isSecret = false } = {}) {
      if (!isInteractive) return null
      stderr.write(question)
      const echo = new Writable({
        write(chunk: Buffer, _encoding, done) {
          if (!isSecret) stderr.write(chunk)
          done()
        },
      })
      const lines = createInterface({ input: stdin, output: echo, terminal: true })
      try {
        return await new Promise<string | null>((resolve, reject) => {
          lines.on('SIGINT', () => reject(new CommandFailed(EXIT.INTERRUPTED, 'interrupted')))
          lines.on('close', () => resolve(null))
          lines.question('').then(resolve, reject)
        })
      } finally {
        lines.close()
        stderr.write(isSecret ? '\n' : '')
      }
    },
  }
}

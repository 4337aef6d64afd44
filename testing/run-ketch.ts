// Runs a command of the shell in this process, with the texts and answers of a test in place of a terminal.

import { systemClock } from '../src/base/clock.ts'
import { runCommand } from '../src/cli/run.ts'
import type { Variable } from '../src/cli/terminal.ts'

export interface Typed {
  readonly variables?: Partial<Record<Variable, string>>
  /** The answers of the user, one for each question. Without them the command has no terminal. */
  readonly answers?: readonly string[]
  /** The standard input, chunk by chunk. */
  readonly input?: readonly (string | Buffer)[]
  readonly interrupted?: AbortSignal
  readonly onOut?: () => void
}

/** Runs a command as a shell would: takes words, and returns the output and the exit status. */
export async function ketch(line: string | readonly string[], typed: Typed = {}) {
  const { variables = {}, answers, input = [], interrupted, onOut } = typed
  let out = ''
  let err = ''
  const left = [...(answers ?? [])]
  const questions: string[] = []
  const terminal = {
    out(text: string) {
      out += text
      onOut?.()
    },
    err(text: string) {
      // Keep only the text that a terminal shows: the next text overwrites a line of progress.
      const [before, after] = (err + text).split('\r\u001b[K') as [string, string?]
      err = after === undefined ? before : before.slice(0, before.lastIndexOf('\n') + 1) + after
    },
    async write(bytes: Uint8Array) {
      out += Buffer.from(bytes).toString()
    },
    async *input() {
      for (const chunk of input) yield Buffer.from(chunk)
    },
    isWatched: answers !== undefined,
    isOutSeen: answers !== undefined,
    variable: (name: Variable) => variables[name],
    async ask(question: string) {
      questions.push(question)
      return left.shift() ?? null
    },
    interrupted: interrupted ?? new AbortController().signal,
  }
  const status = await runCommand(typeof line === 'string' ? line.split(' ') : line, terminal, systemClock)
  return { status, out, err, questions }
}

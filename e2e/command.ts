// Runs a program of somebody else's (a Kafka client) and hands over what it printed. It interprets nothing.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Running {
  readonly child: ChildProcess
  /** Resolves with standard output; rejects with both outputs on any other status than 0. */
  readonly done: Promise<Buffer>
  /** Resolves once a line of standard output satisfies the test; rejects if the program ends before. */
  line(satisfies: (line: string) => boolean): Promise<string>
}

/** Starts a program; `input` is its standard input, which ends after it unless `keepOpen`. */
export function startCommand(
  command: string,
  args: readonly string[],
  options: { input?: string | Buffer; keepOpen?: boolean; env?: Readonly<Record<string, string>> } = {},
): Running {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  })
  const output: Buffer[] = []
  let complaints = ''
  let text = ''
  let ended = false
  const listeners: (() => void)[] = []
  const wake = () => {
    for (const listener of listeners.splice(0)) listener()
  }
  child.stdout.on('data', (chunk: Buffer) => {
    output.push(chunk)
    text += chunk.toString('latin1')
    wake()
  })
  child.stderr.on('data', chunk => (complaints += chunk))
  // A program that ends early breaks the pipe; its status says so better than EPIPE.
  child.stdin.on('error', () => {})
  if (options.input !== undefined) child.stdin.write(options.input)
  if (options.keepOpen !== true) child.stdin.end()
  const name = `${command} ${args.join(' ')}`.slice(0, 300)
  const done = new Promise<Buffer>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status, signal) => {
      ended = true
      wake()
      if (status === 0) resolve(Buffer.concat(output))
      else reject(new Error(`${name} ended with ${signal ?? status}\n${complaints.slice(-4000)}\n${text.slice(-2000)}`))
    })
  })
  done.catch(() => {})
  return {
    child,
    done,
    async line(satisfies) {
      for (;;) {
        const complete = text.slice(0, text.lastIndexOf('\n') + 1)
        const found = complete.split('\n').find(line => line !== '' && satisfies(line))
        if (found !== undefined) return Buffer.from(found, 'latin1').toString()
        if (ended) throw new Error(`${name} ended without the line that was waited for\n${complaints.slice(-4000)}`)
        await new Promise<void>(resolve => listeners.push(resolve))
      }
    },
  }
}

/** Runs a program to its end. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: { input?: string | Buffer; env?: Readonly<Record<string, string>> } = {},
): Promise<Buffer> {
  return startCommand(command, args, options).done
}

/** Of a program that was asked to end. */
const LONGEST_END_MS = 90_000

/** How a program ends that was asked to by SIGTERM: by itself, as a JVM does, or of the signal. */
const AS_ASKED = [0, 143, 'SIGTERM']

/**
 * Runs a program, line by line, until the signal; then `stop` asks it to end, and it resolves when the last line is
 * there. Rejects with what it complained of when it ends by itself before, in any other way than asked, or not at all.
 */
export async function followCommand(
  stopping: AbortSignal,
  [command, ...args]: readonly [string, ...string[]],
  stop: (child: ChildProcess) => void,
  line: (text: string) => void,
): Promise<void> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.on('data', chunk => (complaints = `${complaints}${chunk}`.slice(-4000)))
  child.stdin.on('error', () => undefined)
  let patience: NodeJS.Timeout | undefined
  const end = () => {
    stop(child)
    patience = setTimeout(() => child.kill('SIGKILL'), LONGEST_END_MS)
  }
  stopping.addEventListener('abort', end, { once: true })
  if (stopping.aborted) end()
  const closed = new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status, signal) => resolve(signal ?? status!))
  })
  try {
    for await (const text of createInterface({ input: child.stdout })) if (text !== '') line(text)
    const how = await closed
    if (!stopping.aborted) throw new Error(`${command} ended by itself with ${how}: ${complaints}`)
    if (!AS_ASKED.includes(how)) throw new Error(`${command} was asked to end and ended with ${how}: ${complaints}`)
  } finally {
    clearTimeout(patience)
    child.kill('SIGKILL')
  }
}

// Runs another program (a Kafka client) and returns its output. It does not interpret the output.

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface Running {
  readonly child: ChildProcess
  /** Resolves with standard output; rejects with both outputs if the status is not 0. */
  readonly done: Promise<Buffer>
  /** Returns what it has written to standard error. */
  complaints(): string
  /** Resolves once a line of standard output satisfies the test; rejects if the program ends before. */
  line(satisfies: (line: string) => boolean): Promise<string>
}

/** Starts a program. `input` is written to its standard input, which then ends unless `keepOpen` is true. */
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
  // A program that ends early breaks the pipe. Its status explains that better than EPIPE.
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
    complaints: () => complaints,
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

/** Runs a program until it ends. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: { input?: string | Buffer; env?: Readonly<Record<string, string>> } = {},
): Promise<Buffer> {
  return startCommand(command, args, options).done
}

/** A program that has ended: its exit status, null after a signal, and what it wrote to each of its outputs. */
export interface Ended {
  readonly status: number | null
  readonly out: string
  readonly err: string
}

/**
 * Runs a program to its end, without an input and with exactly this environment. Resolves whatever its exit status is.
 * `onOut` gets all standard output so far.
 */
export function runToEnd(
  [program, ...args]: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; onOut?: (out: string, child: ChildProcess) => void },
): Promise<Ended> {
  const { cwd, env, onOut } = options
  const child = spawn(program!, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stdout.on('data', chunk => {
    out += chunk
    onOut?.(out, child)
  })
  child.stderr.on('data', chunk => {
    err += chunk
  })
  return new Promise(resolve => child.on('close', status => resolve({ status, out, err })))
}

/** The longest time in ms that a program may need to end after it was asked to. */
const LONGEST_END_MS = 90_000

/** The statuses of a program after SIGTERM: it ends by itself, as a JVM does, or by the signal. */
const AS_ASKED = [0, 143, 'SIGTERM']

/**
 * Runs a program and calls `line` for each line, until the signal. Then `stop` asks the program to end. Resolves
 * after its last line. Rejects with its standard error if it ends before the signal, with an unexpected status, or
 * not at all.
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

// Builds a foreign suite step by step, and runs a slice of it to its end, or to the moment when somebody loses
// patience: the slice's own limit, or the person at the terminal.

import { spawn, spawnSync } from 'node:child_process'

export interface Ended {
  /** Both outputs as they came. */
  readonly output: string
  /** Null where it ended by itself: the signal, or that it was still running. */
  readonly how: string | null
}

export interface SliceOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly longestMs: number
  readonly stop: AbortSignal
  /** Shows the output as it comes. */
  readonly verbose: boolean
}

/** Aborts with the first SIGINT or SIGTERM, so that what was started is ended before we are. */
export function stopOnSignal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  return stop.signal
}

/** Resolves when the program has ended, whatever its status; rejects if it could not be started. */
export function runSlice(
  command: string,
  args: readonly string[],
  { cwd, env, longestMs, stop, verbose }: SliceOptions,
): Promise<Ended> {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const take = (chunk: Buffer) => {
    output += chunk
    if (verbose) process.stdout.write(chunk)
  }
  child.stdout.on('data', take)
  child.stderr.on('data', take)
  const kill = () => child.kill('SIGKILL')
  stop.addEventListener('abort', kill)
  let late = false
  const limit = setTimeout(() => {
    late = true
    kill()
  }, longestMs)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (_, signal) => {
      clearTimeout(limit)
      stop.removeEventListener('abort', kill)
      resolve({ output, how: late ? `still running after ${longestMs / 1000} s` : signal })
    })
  })
}

/** Runs a step of a build in this terminal. Throws unless it ends well. */
export function runStep(command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} in ${cwd} ended with ${error?.message ?? status}`)
}

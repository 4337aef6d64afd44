// Builds a foreign suite step by step, and runs a slice of it. The slice ends by itself, at its time limit, or when the
// person at the terminal stops it.

import { spawn, spawnSync } from 'node:child_process'

export interface Ended {
  /** Standard output and standard error together, in the order of arrival. */
  readonly output: string
  /** The signal that ended the slice, or that it was still running at its time limit; null if it ended by itself. */
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

/** Aborts with the first SIGINT or SIGTERM, so that the started programs end before this process. */
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

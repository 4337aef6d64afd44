// Ends a child process and everything that it started, even if it cannot answer a signal. Reads /proc, so it finds
// processes on Linux alone.

import { readdirSync, readFileSync } from 'node:fs'

/** Kills the descendants of this process whose arguments satisfy the test, and all descendants of those. How many. */
export function killProcesses(satisfies: (command: readonly string[]) => boolean): number {
  const parents = new Map(listProcesses().map(pid => [pid, parentOf(pid)]))
  const lineOf = (pid: number): number[] => {
    const parent = parents.get(pid)
    return parent === undefined ? [pid] : [pid, ...lineOf(parent)]
  }
  const ends = [...parents.keys()].filter(pid => {
    const line = lineOf(pid)
    return line.slice(0, line.indexOf(process.pid)).some(each => satisfies(commandOf(each)))
  })
  for (const pid of ends) kill(pid)
  return ends.length
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function listProcesses(): readonly number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter(pid => Number.isSafeInteger(pid))
  } catch {
    return []
  }
}

/** proc_pid_stat(5), field 4. */
function parentOf(pid: number): number {
  const stat = read(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}

const commandOf = (pid: number): readonly string[] => read(pid, 'cmdline').split('\0')

/** Empty where the process is gone. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}

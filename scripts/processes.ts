// Kills child processes and everything that they started, even if they do not react to signals. It reads /proc, so it
// finds processes only on Linux.

import { readdirSync, readFileSync } from 'node:fs'

/**
 * Kills the descendants of this process whose arguments satisfy the test, with their own descendants. Returns their
 * number.
 */
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

/** Returns the parent's id: proc_pid_stat(5), field 4. */
function parentOf(pid: number): number {
  const stat = read(pid, 'stat')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}

const commandOf = (pid: number): readonly string[] => read(pid, 'cmdline').split('\0')

/** Returns the file of a process in /proc; '' if the process has ended. */
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
    // The process has ended in the meantime.
  }
}

// Measures the processor time of processes with all their descendants, from /proc. Linux itself adds up only the
// children that a process has waited for. It leaves out browsers and brokers that a test kills. On systems without
// /proc every time is 0.

import { readdirSync, readFileSync } from 'node:fs'

/** Clock ticks a second in /proc (`getconf CLK_TCK`): 100 on every current Linux. */
const TICKS_PER_SECOND = 100

interface Row {
  readonly pid: number
  readonly parent: number
  readonly seconds: number
  /** The process id alone may be used again. */
  readonly identity: string
}

export interface Meter {
  /** Looks at the processes of now. Call it about once a second. */
  look(): void
  /** Returns the processor seconds so far of this root and its descendants. */
  secondsOf(root: string): number
}

/**
 * Starts to measure. `rootOf` says which root a child of this process is: a name, or null without one. Time between
 * the last look and the end of a process is not counted.
 */
export function newMeter(rootOf: (pid: number) => string | null): Meter {
  /** The root of each process that has one. A process keeps it when its parent ends. */
  const roots = new Map<string, string>()
  const seconds = new Map<string, Map<string, number>>()
  const look = () => {
    const rows = new Map(listProcesses().map(row => [row.pid, row]))
    const rootOfRow = (row: Row): string | null => {
      const known = roots.get(row.identity)
      if (known !== undefined) return known
      const parent = rows.get(row.parent)
      const root = row.parent === process.pid ? rootOf(row.pid) : parent === undefined ? null : rootOfRow(parent)
      if (root !== null) roots.set(row.identity, root)
      return root
    }
    for (const row of rows.values()) {
      const root = rootOfRow(row)
      if (root === null) continue
      const own = seconds.get(root) ?? new Map<string, number>()
      seconds.set(root, own.set(row.identity, row.seconds))
    }
  }
  return {
    look,
    secondsOf: root => [...(seconds.get(root)?.values() ?? [])].reduce((sum, each) => sum + each, 0),
  }
}

function listProcesses(): readonly Row[] {
  let pids: readonly number[]
  try {
    pids = readdirSync('/proc')
      .map(Number)
      .filter(pid => Number.isSafeInteger(pid))
  } catch {
    return []
  }
  return pids.flatMap(pid => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // proc_pid_stat(5): fields 4, 14, 15 and 22, counted from the state, which is field 3.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const seconds = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
      return [{ pid, parent: Number(fields[1]), seconds, identity: `${pid} ${fields[19]}` }]
    } catch {
      // The process has ended in the meantime.
      return []
    }
  })
}

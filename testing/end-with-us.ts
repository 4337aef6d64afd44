// Ends the servers that a test or a command starts when its process ends, even if a signal ends it before it has
// cleaned up. A broker or a Redis that stays would disturb the next measurement. A SIGKILL of the process itself
// leaves the servers running.

import type { ChildProcess } from 'node:child_process'

/** Each child, and whether it leads a process group that ends with it. */
const living = new Map<ChildProcess, boolean>()

/**
 * Kills the child when this process exits, or when SIGTERM or SIGHUP ends it. SIGINT of a terminal reaches the child
 * anyway.
 */
export function endWithUs(child: ChildProcess, { isGroup = false } = {}): void {
  if (living.size === 0) listen()
  living.set(child, isGroup)
  child.once('close', () => {
    living.delete(child)
    if (living.size === 0) stopListening()
  })
}

const killAll = () => {
  for (const [child, isGroup] of living) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    if (isGroup) process.kill(-child.pid!, 'SIGKILL')
    else child.kill('SIGKILL')
  }
}

const endNow = (_: NodeJS.Signals, number: number) => process.exit(128 + number)

function listen(): void {
  process.on('exit', killAll)
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, endNow)
}

function stopListening(): void {
  process.off('exit', killAll)
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.off(signal, endNow)
}

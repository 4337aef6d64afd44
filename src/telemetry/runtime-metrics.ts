// Measures the process and the machine. The metrics have the names that JVM services use, because dashboards look for
// them. The doc of each name in the metrics table says what it means on Node.

import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../base/clock.ts'
import type { Metrics } from './metrics.ts'

interface GcEntry {
  readonly duration: number
  readonly detail: { readonly kind: number }
}

/** Both shares of CPU time are averages over this time. */
const CPU_INTERVAL_MS = 5_000

const GC_ACTIONS: Readonly<Record<number, string>> = Object.freeze({
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weak-callbacks',
})

/** Begins to measure; `close` ends it. All brokers of one process report the same numbers. */
export function watchRuntime(metrics: Metrics, clock: Clock): { close(): void } {
  metrics.sample('jvm.memory.used', { area: 'heap' }, () => getHeapStatistics().used_heap_size)
  metrics.sample('jvm.memory.used', { area: 'nonheap' }, () => getHeapStatistics().external_memory)
  metrics.sample('jvm.memory.max', { area: 'heap' }, () => getHeapStatistics().heap_size_limit)
  metrics.sample('jvm.threads.live', {}, countThreads)
  metrics.sample('system.load.average.1m', {}, () => loadavg()[0]!)

  const observer = new PerformanceObserver(list => {
    for (const { duration, detail } of list.getEntries() as unknown as readonly GcEntry[]) {
      const action = GC_ACTIONS[detail.kind] ?? 'other'
      metrics.observe('jvm.gc.pause', { action }, duration)
    }
  })
  observer.observe({ entryTypes: ['gc'] })

  const processUsage = metrics.child('process.cpu.usage', {})
  const systemUsage = metrics.child('system.cpu.usage', {})
  let before = readCpu(clock)
  const look = () => {
    const after = readCpu(clock)
    processUsage.set(share((after.processMs - before.processMs) / after.cores, after.atMs - before.atMs))
    const busyMs = after.busyMs - before.busyMs
    systemUsage.set(share(busyMs, busyMs + after.idleMs - before.idleMs))
    before = after
    timer = clock.timer(CPU_INTERVAL_MS, look)
  }
  let timer = clock.timer(CPU_INTERVAL_MS, look)

  return {
    close() {
      timer.cancel()
      observer.disconnect()
    },
  }
}

/**
 * Returns part / whole, limited to 0 to 1. The times of cores and processes are read at slightly different moments, so
 * the quotient may be a little above 1.
 */
function share(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, Math.max(0, part / whole)) : 0
}

function readCpu(clock: Clock) {
  const cores = cpus()
  let idleMs = 0
  let busyMs = 0
  for (const { times } of cores) {
    idleMs += times.idle
    busyMs += times.user + times.nice + times.sys + times.irq
  }
  const { user, system } = process.cpuUsage()
  return {
    atMs: clock.monotonic(),
    processMs: (user + system) / 1000,
    idleMs,
    busyMs,
    cores: Math.max(1, cores.length),
  }
}

/** Returns the number of threads of the process (proc(5)); NaN if the system does not report it. */
function countThreads(): number {
  try {
    return Number(/^Threads:\s+(\d+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1])
  } catch {
    return Number.NaN
  }
}

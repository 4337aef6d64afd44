// A module that the soak loads into the broker's process. At SIGUSR2 it collects garbage and prints one line with
// counts of living objects. Timers of the broker do not keep the process alive, and no list of Node has them, so it
// counts their objects.

import { Socket } from 'node:net'
import { queryObjects } from 'node:v8'
import { PROBE_WORD, type Probe } from './gauges.ts'

const timer = setTimeout(() => undefined, 0)
clearTimeout(timer)

process.on('SIGUSR2', () => {
  const count = (kind: unknown) => queryObjects(kind as () => void, { format: 'count' }) as unknown as number
  const timers = count(timer.constructor)
  const sockets = count(Socket)
  const { heapUsed, external } = process.memoryUsage()
  const probe: Probe = { timers, sockets, handles: process.getActiveResourcesInfo().length, heapUsed, external }
  process.stderr.write(`${PROBE_WORD}${JSON.stringify(probe)}\n`)
})

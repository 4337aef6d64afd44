// Loaded into the broker's process by the soak: answers SIGUSR2 with one line about what lives in it, after a
// collection of its garbage. Timers of the broker do not keep the process alive and are in no list of Node's, so they
// are counted as objects.

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

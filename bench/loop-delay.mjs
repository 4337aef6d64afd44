// A preload for a broker (`--import`). On SIGUSR2 it prints how long the event loop was blocked since the last
// signal, and starts counting again.

import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 1
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delay.enable()
process.on('SIGUSR2', () => {
  const ms = nanoseconds => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  console.log(`loop-delay ${JSON.stringify({ p999: ms(delay.percentile(99.9)), max: ms(delay.max) })}`)
  delay.reset()
})

// Loaded into a broker before its own code (`--import`): on SIGUSR2 it prints how long its event loop was held up since
// the last time, and starts counting anew.

import { monitorEventLoopDelay } from 'node:perf_hooks'

const RESOLUTION_MS = 1
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
delay.enable()
process.on('SIGUSR2', () => {
  const ms = nanoseconds => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS)
  console.log(`loop-delay ${JSON.stringify({ p999: ms(delay.percentile(99.9)), max: ms(delay.max) })}`)
  delay.reset()
})

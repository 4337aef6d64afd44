// A thread that runs one input of a target and answers what it takes at its fastest, in milliseconds of this thread's
// time of the processor: on a busy machine the clock blames the input for what others do. In the fuzzer's own thread
// the blocks are counted, which makes a run several times longer.

import { parentPort, workerData } from 'node:worker_threads'
import { targets } from './targets.ts'

const RUNS = 5

const { name, input } = workerData as { readonly name: string; readonly input: Uint8Array }
const target = targets.find(each => each.name === name)!
let leastMs = Number.POSITIVE_INFINITY
for (let i = 0; i < RUNS; i++) {
  const before = process.threadCpuUsage()
  await target.run(Buffer.from(input))
  const { user, system } = process.threadCpuUsage(before)
  leastMs = Math.min(leastMs, (user + system) / 1000)
}
parentPort!.postMessage(leastMs)

// A thread that runs one input of a target several times and posts the shortest time in milliseconds. It measures the
// CPU time of this thread, because on a busy machine the elapsed time includes the work of other processes. The
// fuzzer's own thread counts covered blocks, so a run there takes several times longer.

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

// A preload for a broker (`--import`). On SIGWINCH it collects all garbage and prints that it has: a test then reads
// the memory that stays.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
let collections = 0
process.on('SIGWINCH', () => {
  collect()
  // Memory outside the heap is freed behind the first collection.
  setTimeout(() => {
    collect()
    console.log(`collected ${++collections}`)
  }, 200)
})

// The code of a decoder thread: it restores, searches or counts the batches of row groups that others have fetched.

import { memoryOf, release } from '../../base/copied.ts'
import { type Result, serveCalls } from '../../base/serve-calls.ts'
import { boundsOfForeign, type FetchedForeign } from './foreign-rows.ts'
import { type Fetched, restoreGroup } from './read.ts'
import { searchBatches, type TimeQuery } from './time-search.ts'
import { summarizeGroup } from './verify.ts'

export type DecoderCall =
  | readonly ['restore', Fetched, number]
  | readonly ['search', Fetched, TimeQuery]
  | readonly ['summarize', Fetched]
  | readonly ['bounds', FetchedForeign]

serveCalls(async (call: DecoderCall): Promise<Result> => {
  try {
    switch (call[0]) {
      case 'restore': {
        const result = await restoreGroup(call[1], call[2])
        return { result, memory: memoryOf(result.map(({ bytes }) => bytes)) }
      }
      case 'search':
        return { result: await searchBatches(call[1], call[2]), memory: [] }
      case 'summarize':
        return { result: await summarizeGroup(call[1]), memory: [] }
      case 'bounds':
        return { result: await boundsOfForeign(call[1]), memory: [] }
    }
  } finally {
    release(bytesOf(call[1]))
  }
})

function bytesOf(fetched: Fetched): readonly Uint8Array[] {
  return fetched.kind === 'foreign' ? [fetched.bytes] : fetched.columns.map(({ bytes }) => bytes)
}

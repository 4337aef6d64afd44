// Reports which blocks of our code ran, as V8 counts them: only src/ and the code that the codec generates.

import { Session } from 'node:inspector'

interface Script {
  readonly scriptId: string
  readonly url: string
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly endOffset: number; readonly count: number }[]
  }[]
}

export interface Coverage {
  /** Returns the blocks that ran since the last call. */
  take(): Set<string>
  stop(): void
}

export function startCoverage(): Coverage {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return {
    take() {
      const blocks = new Set<string>()
      // A session of the same thread calls back before post() returns.
      session.post('Profiler.takePreciseCoverage', (error, answer) => {
        if (error !== null) throw error
        for (const script of answer.result as readonly Script[]) {
          if (!script.url.includes('/src/') && !script.url.startsWith('ketch:')) continue
          for (const { ranges } of script.functions) {
            for (const { startOffset, endOffset, count } of ranges) {
              if (count > 0) blocks.add(`${script.scriptId}:${startOffset}-${endOffset}`)
            }
          }
        }
      })
      return blocks
    },
    stop: () => session.disconnect(),
  }
}

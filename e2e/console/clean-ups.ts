// The clean-up of a suite: the functions that its tests register run after the last test, the newest first.

import type { CleanUp } from '../../testing/broker.ts'

export interface SuiteCleanUp extends CleanUp {
  /** Runs what was registered. */
  run(): Promise<void>
}

export function suiteCleanUp(): SuiteCleanUp {
  const cleaners: (() => Promise<void>)[] = []
  return {
    after: clean => cleaners.push(clean),
    async run() {
      for (const clean of cleaners.toReversed()) await clean()
    },
  }
}

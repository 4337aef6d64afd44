// The faults beside the cleaner on the embedded store. Each ends itself.

import assert from 'node:assert/strict'
import { type ChaosOptions, killAndStart, type Scene } from '../chaos.ts'
import type { Orders } from './orders.ts'
import { EMBEDDED_STEPS, PASS_STEPS } from './steps.ts'

export interface EmbeddedFault {
  readonly name: string
  act(scene: Scene, orders: Orders): Promise<string>
}

const MOST_TIMES = 3
const PROGRESS = 100

const killAt = (step: string): EmbeddedFault => ({
  name: `kill -9 when ${step}`,
  async act({ broker, run, random }, orders) {
    const nth = 1 + random.below(MOST_TIMES)
    await orders.stopAt([broker], run, { step, nth, signal: 'SIGKILL' })
    assert.equal(await broker.exited, null, 'a signal has ended the broker')
    await broker.start()
    return `kill -9 when ${step}, ${nth}`
  },
})
void [PROGRESS, killAndStart]
export type { ChaosOptions }

export const EMBEDDED_FAULTS: readonly EmbeddedFault[] = [...PASS_STEPS, ...EMBEDDED_STEPS].map(({ step }) =>
  killAt(step),
)

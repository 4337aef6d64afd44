// The faults beside the cleaner on the embedded store. Each one ends itself.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileName, fileNumber } from '../../../src/store/embedded/journal.ts'
import { runsIn } from '../../../testing/folder-audit.ts'
import type { SmallDisk } from '../../../testing/small-disk.ts'
import { createTopic, removeTopic } from '../../../testing/topic.ts'
import { disturbNetwork, type Scene } from '../chaos.ts'
import type { Orders } from '../orders.ts'
import {
  flipBit,
  isUncleanable,
  jumpClocks,
  MOST_TIMES,
  OLD,
  PROGRESS,
  reconfigure,
  watchForWaits,
  writeTopic,
} from './common-faults.ts'
import { EMBEDDED_STEPS, PASS_STEPS } from './steps.ts'

export interface EmbeddedFault {
  readonly name: string
  /** The MiB of a disk of its own that the broker gets. */
  readonly diskMiB?: number
  act(scene: Scene, orders: Orders, disk: SmallDisk | null): Promise<string>
}

const PAUSE_MS = 1_500

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

const pauseInside: EmbeddedFault = {
  name: 'a pause inside of a pass',
  async act({ broker, run, random }, orders) {
    const { step } = PASS_STEPS[random.below(PASS_STEPS.length)]!
    await orders.stopAt([broker], run, { step, nth: 1, signal: 'SIGSTOP' })
    await run.pause(PAUSE_MS)
    broker.resume()
    return `the broker paused when ${step}`
  },
}

/** Retention of another topic frees the room that the compacted one needs. */
const fullDisk: EmbeddedFault = {
  name: 'a full disk until retention has freed room',
  diskMiB: 160,
  async act({ broker, run }, _, disk) {
    const topic = `old-${run.topic}`
    await createTopic(broker, topic, 1, OLD)
    await writeTopic([broker], topic, 32, run)
    const waits = await watchForWaits([broker], run)
    disk!.fill()
    await waits()
    // Earlier, retention could free the room before a pass needs it.
    await reconfigure(broker, topic, 'retention.ms', '1000')
    await run.progress(5 * PROGRESS)
    disk!.empty()
    await removeTopic(broker, topic)
    return 'the disk full until retention had freed room'
  },
}

const clockJump: EmbeddedFault = {
  name: 'a clock that jumps by a day',
  act: async ({ broker, run, random }, orders) => await jumpClocks([broker], orders, run, random),
}

const flippedBit: EmbeddedFault = {
  name: 'a flipped bit',
  async act({ broker, run }) {
    const from = broker.output().length
    assert.equal(await broker.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
    const isFlipped = await flipOne(broker.folder)
    assert.ok(isFlipped, 'a batch with a value')
    run.isDamaged = true
    await broker.start()
    const why = await isUncleanable([broker], run, [from])
    await run.progress(PROGRESS)
    assert.equal(await broker.kill('SIGTERM'), 0, 'the exit status after SIGTERM')
    for (const name of readdirSync(broker.folder)) {
      if (fileNumber(name) !== null) await flipBit(join(broker.folder, name), { isBack: true })
    }
    run.isDamaged = false
    await broker.start()
    return `a flipped bit, later flipped back: ${why}`
  },
}

/** Damages a batch that a reader may need. Resolves to false if no batch has a value. */
async function flipOne(folder: string): Promise<boolean> {
  for (const { file, position, length } of await runsIn(folder)) {
    if (await flipBit(join(folder, fileName(file)), { from: position, to: position + length })) return true
  }
  return false
}

const network: EmbeddedFault = { name: 'a broken link to clients', act: scene => disturbNetwork(scene) }

export const EMBEDDED_FAULTS: readonly EmbeddedFault[] = [
  ...[...PASS_STEPS, ...EMBEDDED_STEPS].map(({ step }) => killAt(step)),
  pauseInside,
  fullDisk,
  clockJump,
  flippedBit,
  network,
]

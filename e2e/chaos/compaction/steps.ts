// The steps of a pass at which a test can stop a broker, and the text of the broker's modules where each step is.
// ../stop-at.ts changes the modules as Node loads them; the product has no such switch.

import { after, before, type Place } from '../order.ts'

/** This module, for openOrders. */
export const STEPS = new URL(import.meta.url)

const PASS = 'src/log/cleaner/pass.ts'
const ROUND = 'src/log/round.ts'
const UPKEEP = 'src/store/embedded/upkeep.ts'
const STREAMS = 'src/store/redis/streams.ts'

const REWRITE = 'await this.#partition.rewrite(piece)'

/** The steps on every store, in their order. */
export const PASS_STEPS: readonly Place[] = [
  before(PASS, 'await this.#rooms.work.begin(this.#rooms.mapBytes, this.#mapFrom)', 'a pass begins'),
  before(PASS, "if (mapped.kind !== 'mapped') return this.#stopped(mapped)", 'a part is mapped'),
  before(PASS, 'const end = Math.max(mapTo, leastEnd)', 'the map is made'),
  {
    step: 'a piece is with the thread',
    file: PASS,
    text: 'const cleaned = await this.#rooms.work.clean(plain, terms)',
    instead: 'const cleaning = this.#rooms.work.clean(plain, terms); STOP; const cleaned = await cleaning',
  },
  before(PASS, 'const drafts = read.length === 0', 'a piece is cleaned'),
  {
    step: 'a piece is with the store',
    file: PASS,
    text: `const outcome = ${REWRITE}`,
    instead: `setImmediate(() => { STOP }); const outcome = ${REWRITE}`,
  },
  before(PASS, "if (outcome === 'moved') return", 'a piece is written'),
  before(PASS, "return this.#result(mapTo < this.#mapEnd ? 'partly' : 'done')", 'the last piece is written'),
  after(ROUND, 'return segments && { ...sealed, segments }\n      })', 'the segments are marked as cleaned'),
]

export const EMBEDDED_STEPS: readonly Place[] = [
  before(UPKEEP, 'await this.#attached().synced()', 'a checkpoint is ready'),
  before(UPKEEP, 'for (const [number, bytes] of stored) {\n      const file', 'a checkpoint is written'),
  before(UPKEEP, 'for (const file of dead) journal.retire(file)', 'dead files are no longer in the index'),
]

/** Between this step and the command to Redis the broker checks nothing. */
export const LAST = 'a piece is about to go to Redis'

export const REDIS_STEPS: readonly Place[] = [
  before(STREAMS, 'const next = begun(cleaned,', 'a pass takes the other stream'),
  after(STREAMS, 'cleaned = next', 'the other stream is taken'),
  before(STREAMS, 'const rewriting = rounds.write(on, commands)', LAST),
  {
    step: 'the old entries are not deleted yet',
    file: STREAMS,
    text: 'const shearing = rounds.writeEach(on, [shear])',
    // Only a broker with this order waits for the rewrite before it sends the deletion.
    instead: 'if (IS_ORDERED) { await rewriting; STOP }; const shearing = rounds.writeEach(on, [shear])',
  },
]

export const PLACES: readonly Place[] = [...PASS_STEPS, ...EMBEDDED_STEPS, ...REDIS_STEPS]

/**
 * Small limits, so that a pass of little data has many pieces, and checkpoints come often. The cleaner's thread has the
 * usual priority: on a busy machine a round could otherwise wait for minutes until it gets the processor.
 */
export const LIMITS: readonly Omit<Place, 'step'>[] = [
  { file: PASS, text: 'const PIECE_BYTES = 1024 * 1024', instead: 'const PIECE_BYTES = 32 * 1024' },
  {
    file: 'src/store/embedded/embedded-store.ts',
    text: 'options.checkpointBytes ?? CHECKPOINT_BYTES',
    instead: 'options.checkpointBytes ?? 512 * 1024',
  },
  {
    file: 'src/base/quiet-thread.ts',
    text: 'setPriority(thread, constants.priority.PRIORITY_LOW)',
    instead: 'setPriority(thread, constants.priority.PRIORITY_NORMAL)',
  },
]

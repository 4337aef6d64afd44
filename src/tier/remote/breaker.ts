// The breaker before the place of the objects. A request that found the place away makes it ask the place with a
// probe; if that fails, the breaker opens, and no attempt to offload begins. Then each round of this broker probes
// once, until the place works again. Reads of consumers pass in any case: they have their own limits.

import type { Clock } from '../../base/clock.ts'
import { within } from '../../base/clock.ts'
import { type Random, randomUuid } from '../../base/random.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { ObjectStoreError, type Objects } from '../objects/objects.ts'

export interface BreakerRooms {
  readonly clock: Clock
  readonly logger: Logger
  /** Asks the place; rejects with the reason if it does not work. */
  probe(): Promise<void>
}

/** The longest wait for a probe. */
const PROBE_MS = 10_000
/** Requests that fail while probes succeed cause no more than one probe in this time. */
const LEAST_BETWEEN_MS = 5_000

export class Breaker {
  readonly #rooms: BreakerRooms
  #why: string | null = null
  #sinceMs: number
  #probing: Promise<boolean> | null = null
  #probedAtMs = Number.NEGATIVE_INFINITY

  constructor(rooms: BreakerRooms) {
    this.#rooms = rooms
    this.#sinceMs = rooms.clock.now()
  }

  get isOpen(): boolean {
    return this.#why !== null
  }

  get state() {
    return { breaker: this.isOpen ? ('open' as const) : ('closed' as const), why: this.#why, sinceMs: this.#sinceMs }
  }

  /** A request found the place away. */
  suspect(): void {
    const { clock } = this.#rooms
    if (this.isOpen || clock.monotonic() - this.#probedAtMs < LEAST_BETWEEN_MS) return
    void this.check()
  }

  /** Asks the place now, or waits for the probe in flight. Resolves with whether it works. */
  check(): Promise<boolean> {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = null
    })
    return this.#probing
  }

  async #probe(): Promise<boolean> {
    const { clock, logger, probe } = this.#rooms
    this.#probedAtMs = clock.monotonic()
    const asked = probe().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    const why = await within(clock, PROBE_MS, asked, () => `the place gave no answer within ${PROBE_MS} ms`)
    if ((why === null) === (this.#why === null)) {
      this.#why = why
      return why === null
    }
    this.#why = why
    this.#sinceMs = clock.now()
    if (why === null) logger.info('the place of the remote tier works again, and the offload goes on')
    else
      logger.warn('the place of the remote tier does not work: nothing is offloaded, and no attempt is spent', {
        reason: why,
      })
    return why === null
  }
}

/** Writes a small object, reads it and deletes it. Rejects with an ObjectStoreError if the place does not do that. */
export async function probePlace(objects: Objects, random: Random): Promise<void> {
  const key = `ketch-probe/${randomUuid(random)}`
  const bytes = Uint8Array.of(1)
  await objects.write(key, bytes)
  const found = await objects.read(key)
  await objects.delete([key])
  if (found?.length !== 1 || found[0] !== 1)
    throw new ObjectStoreError('refused', `${objects.uri}/${key} was written and cannot be read`)
}

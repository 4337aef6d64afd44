// Orders the calls on one stream. Calls that change the stream run one after the other, in call order. Reads run in
// parallel with each other, and with appends whose batches they do not request.

export class Turns {
  /** Settles with the last call of any kind that changes the stream. */
  #changed: Promise<unknown> | null = null
  /** Settles with the last call that changes the stream and is not an append. */
  #reshaped: Promise<unknown> | null = null
  readonly #reads = new Set<Promise<unknown>>()

  append<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changed === null ? work() : this.#changed.then(work, work)
    const end = () => {
      if (this.#changed === settled) this.#changed = null
    }
    const settled: Promise<void> = done.then(end, end)
    this.#changed = settled
    return done
  }

  /** Runs the work after all calls that were made before it, and before all later calls. */
  last<T>(work: () => Promise<T>): Promise<T> {
    const done = this.append(work)
    const end = () => {
      if (this.#reshaped === settled) this.#reshaped = null
    }
    const settled: Promise<void> = done.then(end, end)
    this.#reshaped = settled
    return done
  }

  /** Runs a read. `isBelow`: the read does not request batches that appends in flight add. */
  read<T>(isBelow: boolean, work: () => Promise<T>): Promise<T> {
    const before = isBelow ? this.#reshaped : this.#changed
    const done = before === null ? work() : before.then(work)
    const end = () => void this.#reads.delete(settled)
    const settled: Promise<void> = done.then(end, end)
    this.#reads.add(settled)
    return done
  }

  get isIdle(): boolean {
    return this.#changed === null && this.#reads.size === 0
  }

  async idle(): Promise<void> {
    while (!this.isIdle) await Promise.all([this.#changed, ...this.#reads])
  }
}

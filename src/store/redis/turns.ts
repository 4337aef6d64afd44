// The order of calls on one stream. Calls that change it go one after the other, as called; reads go beside each other,
// and beside appends whose outcome they cannot show.

export class Turns {
  /** Settles with the last call of any kind that changes the stream. */
  #changed: Promise<unknown> | null = null
  /** Settles with the last one that is no append. */
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

  /** After everything that was called before it. */
  last<T>(work: () => Promise<T>): Promise<T> {
    const done = this.append(work)
    const end = () => {
      if (this.#reshaped === settled) this.#reshaped = null
    }
    const settled: Promise<void> = done.then(end, end)
    this.#reshaped = settled
    return done
  }

  /** `isBelow`: the read does not ask for the batches that appends in flight add. */
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

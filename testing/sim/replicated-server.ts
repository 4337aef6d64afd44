// A simulated store server: a primary, replicas that lag behind, and the faults that lose writes: fail-overs, and
// restarts with a shorter log. It keeps a list of effects. A replica has the first n effects, and a new primary has
// the result of its n effects on an empty store. It knows no brokers and loses no messages (replicated-store.ts
// does).

import { assert } from '../../src/base/assert.ts'
import { type Contents, emptyContents } from './contents.ts'

type Effect = (contents: Contents) => unknown

interface Written {
  readonly effect: Effect
  /** The effect of the first part of the write, if this part can come back after later writes; it only adds data. */
  readonly orphan: Effect | null
}

interface Replica {
  /** The number of effects that the replica has; null during a full resync, when the replica does not count. */
  position: number | null
}

interface Waiter {
  readonly position: number
  readonly replicas: number
  readonly covered: () => void
}

export class ReplicatedServer {
  #contents = emptyContents()
  #effects: Written[] = []
  /** The first parts of writes that a kill has torn. Every later start applies them. */
  readonly #torn: Effect[] = []
  readonly #replicas: Replica[]
  #waiters: Waiter[] = []
  #incarnations = 1
  #isDown = false
  /** Called when the server breaks all connections. */
  readonly #onBreak = new Set<() => void>()

  /** Called after everything that leaves replicas behind, so that the owner can schedule the replication. */
  readonly #written: () => void

  constructor(replicas: number, written: () => void = () => {}) {
    this.#written = written
    this.#replicas = Array.from({ length: replicas }, () => ({ position: 0 }))
  }

  /** Changes whenever written data may have been lost (Redis: `master_replid`). */
  get incarnation(): string {
    return `incarnation ${this.#incarnations}`
  }

  get isDown(): boolean {
    return this.#isDown
  }

  /** The number of effects written so far. A replica that has everything has the same number. */
  get position(): number {
    return this.#effects.length
  }

  get contents(): Contents {
    return this.#contents
  }

  /** The indexes of the replicas that can be promoted. */
  get promotable(): readonly number[] {
    return [...this.#replicas.keys()].filter(index => this.#replicas[index]!.position !== null)
  }

  lag(replica: number): number {
    return this.position - (this.#replicas[replica]!.position ?? 0)
  }

  /** True if every replica has everything. */
  get isReplicated(): boolean {
    return this.#replicas.every(({ position }) => position === this.position)
  }

  /**
   * Applies the effect on the primary. A replay of the effect after the same earlier effects must give the same
   * result.
   */
  write<T>(effect: (contents: Contents) => T, orphan: Effect | null = null): T {
    assert(!this.#isDown, 'the simulated server is down')
    this.#effects.push({ effect, orphan })
    const value = effect(this.#contents)
    this.#written()
    return value
  }

  /**
   * Calls `covered` as soon as this many replicas have everything up to the position (WAIT of Redis). This may be at
   * once.
   */
  wait(position: number, replicas: number, covered: () => void): void {
    this.#waiters.push({ position, replicas, covered })
    this.#tellCovered()
  }

  /** Sends `count` effects to a replica. A replica in a full resync gets all effects. */
  replicate(index: number, count: number): void {
    const replica = this.#replicas[index]!
    const from = replica.position ?? this.position
    replica.position = Math.min(this.position, from + count)
    this.#tellCovered()
  }

  /** Promotes the replica with the effects that it has. The old primary becomes a replica without data. */
  failOver(index: number, breaksConnections = true): void {
    const { position } = this.#replicas[index]!
    assert(position !== null, 'a replica that fetches everything anew cannot be promoted')
    this.#replicas[index]!.position = null
    this.#becomePrimary(position, breaksConnections)
  }

  /** Restarts the server with the first `keep` effects. The effects that were not on its disk are lost. */
  restart(keep: number): void {
    this.#isDown = false
    this.#becomePrimary(Math.min(keep, this.position), true)
  }

  /**
   * Kills the server while it writes the first write that no replica has, and restarts it. This write and all later
   * ones are lost. The first part of the torn write comes back at the next restart, after everything that was written
   * since.
   */
  tear(): void {
    const keep = Math.max(0, ...this.#replicas.map(({ position }) => position ?? 0))
    const orphan = this.#effects[keep]?.orphan ?? null
    this.restart(keep)
    if (orphan !== null) this.#torn.push(orphan)
  }

  /** Restarts the server with everything that it has, and applies the torn first parts of writes. */
  restartTorn(): void {
    this.restart(this.position)
    for (const orphan of this.#torn) orphan(this.#contents)
  }

  /** Stops the server: no broker can reach it until a restart. */
  stop(): void {
    this.#isDown = true
    this.#break()
  }

  onBreak(ended: () => void): void {
    this.#onBreak.add(ended)
  }

  #becomePrimary(keep: number, breaksConnections: boolean): void {
    const isShorter = keep < this.position
    this.#incarnations++
    this.#waiters = []
    if (isShorter) {
      this.#effects.length = keep
      this.#contents = emptyContents()
      for (const { effect } of this.#effects) effect(this.#contents)
      // A replica that has more than the new primary discards everything.
      for (const replica of this.#replicas) if ((replica.position ?? 0) > keep) replica.position = null
    }
    if (breaksConnections) this.#break()
    this.#written()
  }

  #break(): void {
    const ended = [...this.#onBreak]
    this.#onBreak.clear()
    for (const end of ended) end()
  }

  #tellCovered(): void {
    const covered = this.#waiters.filter(({ position, replicas }) => this.#covering(position) >= replicas)
    if (covered.length === 0) return
    this.#waiters = this.#waiters.filter(waiter => !covered.includes(waiter))
    for (const waiter of covered) waiter.covered()
  }

  #covering(position: number): number {
    return this.#replicas.filter(replica => replica.position !== null && replica.position >= position).length
  }
}

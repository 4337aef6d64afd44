// A store server as the simulation sees it: a primary, replicas that lag behind, and everything that takes back what
// was written: fail-overs, and restarts with a shorter log. It keeps a list of effects. A replica has the first n of
// them, and a new primary holds the result of its n effects on an empty store. It knows no brokers and loses no
// messages (replicated-store.ts does).

import { assert } from '../../src/base/assert.ts'
import { type Contents, emptyContents } from './contents.ts'

type Effect = (contents: Contents) => unknown

interface Written {
  readonly effect: Effect
  /** The effect of its beginning where that comes back after later writes: it only adds. */
  readonly orphan: Effect | null
}

interface Replica {
  /** How many effects it has; null while it fetches everything anew, when it counts for nothing. */
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
  /** Beginnings of writes that a kill has torn: they are there after each further start. */
  readonly #torn: Effect[] = []
  readonly #replicas: Replica[]
  #waiters: Waiter[] = []
  #incarnations = 1
  #isDown = false
  /** Ends every connection when the server goes. */
  readonly #onBreak = new Set<() => void>()

  /** Called after whatever leaves replicas behind: the time to let them have it. */
  readonly #written: () => void

  constructor(replicas: number, written: () => void = () => {}) {
    this.#written = written
    this.#replicas = Array.from({ length: replicas }, () => ({ position: 0 }))
  }

  /** Changes whenever something that was written may be gone (Redis: `master_replid`). */
  get incarnation(): string {
    return `incarnation ${this.#incarnations}`
  }

  get isDown(): boolean {
    return this.#isDown
  }

  /** How much has been written: what a replica must have for all of it. */
  get position(): number {
    return this.#effects.length
  }

  get contents(): Contents {
    return this.#contents
  }

  /** Which replicas could be promoted. */
  get promotable(): readonly number[] {
    return [...this.#replicas.keys()].filter(index => this.#replicas[index]!.position !== null)
  }

  lag(replica: number): number {
    return this.position - (this.#replicas[replica]!.position ?? 0)
  }

  /** Whether every replica has everything. */
  get isReplicated(): boolean {
    return this.#replicas.every(({ position }) => position === this.position)
  }

  /** Does it on the primary. The effect must come to the same whenever it is played again after the same others. */
  write<T>(effect: (contents: Contents) => T, orphan: Effect | null = null): T {
    assert(!this.#isDown, 'the simulated server is down')
    this.#effects.push({ effect, orphan })
    const value = effect(this.#contents)
    this.#written()
    return value
  }

  /** Calls `covered` as soon as this many replicas have everything up to the position, or at once (WAIT of Redis). */
  wait(position: number, replicas: number, covered: () => void): void {
    this.#waiters.push({ position, replicas, covered })
    this.#tellCovered()
  }

  /** A replica receives `count` effects, or all of them if it fetches everything anew. */
  replicate(index: number, count: number): void {
    const replica = this.#replicas[index]!
    const from = replica.position ?? this.position
    replica.position = Math.min(this.position, from + count)
    this.#tellCovered()
  }

  /** The replica becomes the primary with what it has; the old primary comes back as a replica that has nothing. */
  failOver(index: number, breaksConnections = true): void {
    const { position } = this.#replicas[index]!
    assert(position !== null, 'a replica that fetches everything anew cannot be promoted')
    this.#replicas[index]!.position = null
    this.#becomePrimary(position, breaksConnections)
  }

  /** The same server again, with the first `keep` effects: what it had not written to its disk is gone. */
  restart(keep: number): void {
    this.#isDown = false
    this.#becomePrimary(Math.min(keep, this.position), true)
  }

  /**
   * The same server again, killed while it wrote the first write that no replica has: that is not there, nor what came
   * behind it. Its beginning comes back with the next start, behind everything that was written since.
   */
  tear(): void {
    const keep = Math.max(0, ...this.#replicas.map(({ position }) => position ?? 0))
    const orphan = this.#effects[keep]?.orphan ?? null
    this.restart(keep)
    if (orphan !== null) this.#torn.push(orphan)
  }

  /** Started again with all it has, which brings back what was torn before. */
  restartTorn(): void {
    this.restart(this.position)
    for (const orphan of this.#torn) orphan(this.#contents)
  }

  /** No broker can reach it until it is restarted. */
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
      // A replica that has more than the new primary throws away everything.
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

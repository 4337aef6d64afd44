// The brokers of a simulation, the server that they use, and the faults that both meet until everything heals. The
// scenario says what may happen, and the seed decides what happens. This file knows no clients and judges nothing.

import { type BrokerOptions, ClusterBroker, EXPIRY_MS } from './cluster-broker.ts'
import { ReplicatedServer } from './replicated-server.ts'
import type { Fate, Safeguards } from './replicated-store.ts'
import type { Scheduler } from './scheduler.ts'

export interface Scenario {
  readonly replicas: number
  /** The number of replicas that must have the acknowledged data. */
  readonly waitReplicas: number
  /**
   * `best`: the most advanced replica is promoted, and not while another one fetches everything anew: the replicas that
   * the brokers wait for cover one failure at a time. `any`: a random one.
   */
  readonly promotes: 'best' | 'any'
  /** The largest number of fail-overs. */
  readonly failOvers: number
  /** How long a replica lags before half of the fail-overs. */
  readonly lagMs: number
  /** True if some fail-overs come with a power cut that all brokers meet too. */
  readonly cutsPower: boolean
  /** True if some fail-overs break no connection, so that brokers learn of them only at their next check. */
  readonly silently: boolean
  /**
   * The largest number of other faults: paused or dead brokers, replicas cut off, a slow network, a server that is
   * down.
   */
  readonly faults: number
  /** One of this many calls meets a broken connection; 0 for none. */
  readonly oneCallIn: number
  /** True if the server may be killed during a write and started twice. */
  readonly tears: boolean
  readonly safeguards: Safeguards
}

export interface ClusterOptions {
  readonly scheduler: Scheduler
  readonly scenario: Scenario
  /** Makes the server. By default it is a ReplicatedServer. */
  readonly makeServer?: (replicas: number, written: () => void) => ReplicatedServer
  /** The options that only the brokers of this simulation have. */
  readonly brokerOptions?: (id: number) => Partial<BrokerOptions>
}

const BROKERS = [1, 2, 3]
/** Everything heals after this time. */
export const TROUBLE_MS = 4_000
const DRAIN_MS = 1_500

const FATES: readonly Fate[] = ['answer lost', 'answer lost', 'lost', 'late', 'late', 'refused']

export class SimulatedCluster {
  readonly server: ReplicatedServer
  readonly brokers: ClusterBroker[] = []
  failOvers = 0
  readonly #options: ClusterOptions
  #isTroubled = true
  #isSlow = false
  #isReplicating = false
  readonly #frozen = new Set<number>()

  /** The caller prepares the server before it starts the brokers. */
  constructor(options: ClusterOptions) {
    const { scenario, makeServer = (replicas, written) => new ReplicatedServer(replicas, written) } = options
    this.#options = options
    this.server = makeServer(scenario.replicas, () => this.#replicateSoon())
  }

  /** True until everything heals. */
  get isTroubled(): boolean {
    return this.#isTroubled
  }

  /** Starts the brokers, and schedules the faults and their end. `more` are faults of this simulation alone. */
  start(more: readonly (() => void)[] = []): void {
    const { scheduler, scenario } = this.#options
    for (const id of BROKERS) this.#start(id)
    for (let i = 0; i < scenario.failOvers; i++) {
      if (scheduler.oneIn(4)) continue
      const leastMs = Math.max(500, scenario.lagMs + 300)
      const atMs = leastMs + scheduler.within(TROUBLE_MS - leastMs)
      // A fail-over loses data only if a replica lags.
      if (scheduler.oneIn(2)) {
        scheduler.after(atMs - scenario.lagMs, () => this.#frozen.add(scheduler.random.below(scenario.replicas)))
      }
      scheduler.after(atMs, () => {
        this.#failOver()
        scheduler.after(scheduler.within(300), () => this.#frozen.clear())
      })
    }
    const faults = [...this.#faults(), ...more]
    for (let i = scheduler.random.below(scenario.faults + 1); i > 0; i--) {
      scheduler.after(500 + scheduler.within(TROUBLE_MS - 500), faults[scheduler.random.below(faults.length)]!)
    }
    for (let i = scenario.tears ? 4 : 0; i > 0; i--) {
      scheduler.after(500 + scheduler.within(TROUBLE_MS - 500), () => this.#tear())
    }
    scheduler.after(TROUBLE_MS, () => this.#heal())
  }

  latencyMs(): number {
    const { scheduler } = this.#options
    return this.#isSlow ? scheduler.within(150) : scheduler.within(scheduler.oneIn(20) ? 15 : 0.6)
  }

  /** Returns what happens to a message. */
  fate(): Fate {
    const { scheduler, scenario } = this.#options
    if (!this.#isTroubled || scenario.oneCallIn === 0 || !scheduler.oneIn(scenario.oneCallIn)) return 'answered'
    return FATES[scheduler.random.below(FATES.length)]!
  }

  someBroker(): ClusterBroker {
    return this.brokers[this.#options.scheduler.random.below(this.brokers.length)]!
  }

  pause({ id, machine }: ClusterBroker, ms: number): void {
    const { scheduler } = this.#options
    scheduler.tell(`broker ${id} stands still for ${Math.round(ms)} ms`)
    machine.pause()
    scheduler.after(ms, () => {
      scheduler.tell(`broker ${id} goes on`)
      machine.resume()
    })
  }

  kill(broker: ClusterBroker): void {
    const { scheduler } = this.#options
    if (broker.machine.isDead) return
    scheduler.tell(`broker ${broker.id} is killed`)
    this.#restart(broker, scheduler.within(1.5 * EXPIRY_MS))
  }

  #start(id: number): void {
    const { scheduler, scenario, brokerOptions } = this.#options
    const broker = new ClusterBroker({
      id,
      scheduler,
      server: this.server,
      safeguards: scenario.safeguards,
      waitReplicas: scenario.waitReplicas,
      network: this,
      others: this.brokers,
      ended: why => {
        if (broker.machine.isDead) return
        scheduler.tell(`broker ${id} ends: ${why}`)
        this.#restart(broker, 200 + scheduler.within(300))
      },
      ...brokerOptions?.(id),
    })
    this.brokers[BROKERS.indexOf(id)] = broker
  }

  #restart(broker: ClusterBroker, afterMs: number): void {
    broker.machine.kill()
    this.#options.scheduler.after(afterMs, () => this.#start(broker.id))
  }

  #replicateSoon(): void {
    const { scheduler, scenario } = this.#options
    if (this.#isReplicating) return
    this.#isReplicating = true
    scheduler.after(scheduler.within(3), () => {
      this.#isReplicating = false
      for (let replica = 0; replica < scenario.replicas; replica++) {
        if (this.server.isDown || this.#frozen.has(replica)) continue
        this.server.replicate(replica, 1 + scheduler.random.below(4))
      }
      if (!this.server.isReplicated) this.#replicateSoon()
    })
  }

  #failOver(): void {
    const { server } = this
    const { scheduler, scenario } = this.#options
    const { promotable } = server
    const fewest = scenario.promotes === 'best' ? scenario.replicas : 1
    if (server.isDown || promotable.length < fewest) return
    const best = promotable.reduce((one, other) => (server.lag(other) < server.lag(one) ? other : one))
    const chosen = scenario.promotes === 'best' ? best : promotable[scheduler.random.below(promotable.length)]!
    const breaks = !(scheduler.oneIn(4) && scenario.silently)
    this.failOvers++
    scheduler.tell(
      `replica ${chosen} is promoted without ${server.lag(chosen)} writes${breaks ? '' : ', and no broker is told'}`,
    )
    server.failOver(chosen, breaks)
    if (scenario.cutsPower && scheduler.oneIn(2)) for (const broker of [...this.brokers]) this.kill(broker)
  }

  #faults(): readonly (() => void)[] {
    const { server } = this
    const { scheduler, scenario } = this.#options
    return [
      () => {
        const broker = this.someBroker()
        this.pause(
          broker,
          scheduler.oneIn(2) ? scheduler.within(EXPIRY_MS / 2) : EXPIRY_MS + scheduler.within(EXPIRY_MS),
        )
      },
      () => this.kill(this.someBroker()),
      () => this.#drain(this.someBroker()),
      () => {
        const replica = scheduler.random.below(scenario.replicas)
        scheduler.tell(`replica ${replica} is cut off`)
        this.#frozen.add(replica)
        scheduler.after(scheduler.within(800), () => this.#frozen.delete(replica))
      },
      () => {
        scheduler.tell('the network is slow')
        this.#isSlow = true
        scheduler.after(scheduler.within(600), () => {
          this.#isSlow = false
        })
      },
      () => {
        if (server.isDown) return
        scheduler.tell('the server is away')
        server.stop()
        scheduler.after(scheduler.within(700), () => {
          if (!server.isDown) return
          scheduler.tell('the server is back with all it had')
          server.restart(server.position)
        })
      },
    ]
  }

  #drain(broker: ClusterBroker): void {
    const { scheduler } = this.#options
    if (broker.rooms === null || broker.machine.isDead || broker.machine.isPaused) return
    scheduler.tell(`broker ${broker.id} is drained`)
    const end = () => {
      if (this.brokers.includes(broker) && !broker.machine.isDead) this.#restart(broker, scheduler.within(500))
    }
    // In the end the operator kills the broker. A broker whose drain fails ends too.
    scheduler.after(DRAIN_MS, end)
    broker.drain().then(end, end)
  }

  #tear(): void {
    const { server } = this
    const { scheduler } = this.#options
    if (server.isDown) return
    scheduler.tell('the server is killed in the midst of a write')
    server.tear()
    scheduler.after(scheduler.within(600), () => {
      if (server.isDown) return
      scheduler.tell('the server is started once more')
      server.restartTorn()
    })
  }

  #heal(): void {
    this.#options.scheduler.tell('everything heals')
    this.#isTroubled = false
    this.#isSlow = false
    this.#frozen.clear()
    if (this.server.isDown) this.server.restart(this.server.position)
    for (const { machine } of this.brokers) machine.resume()
  }
}

// Asks the other living brokers for their metrics, and keeps the answers for as long as they hold: the numbers of the
// moment for a second, the numbers of steps until the other broker completes its next step. Callers share a request
// that is on its way. So the number of consoles that poll hardly matters to the other brokers. A broker with impossible
// numbers (peer-numbers.ts) counts as one that has not answered. This file adds nothing up.

import type { SilentBroker } from '../api/groups.ts'
import { type Clock, within } from '../base/clock.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Peers, PeerUnavailable } from '../cluster/peers.ts'
import { errorOf, NONE, UNKNOWN_SERVER_ERROR } from '../protocol/errors.ts'
import { describeBrokerMetrics } from '../protocol/messages/describe-broker-metrics.ts'
import { describeTopicMetrics } from '../protocol/messages/describe-topic-metrics.ts'
import type { RequestInput, ResponseOf } from '../protocol/schema.ts'
import { wrongInBroker, wrongInTopics } from './peer-numbers.ts'

/** The longest time that a page waits for another broker. */
const ANSWER_MS = 2_000

/** How long the numbers of a moment are kept, and the fact that a broker has not answered. */
const MOMENT_MS = 1_000

/** How long after the end of its step another broker is asked again. The capture of a step takes a moment. */
const CAPTURE_MS = 100

/** The longest time that an answer is kept, however far away the other broker says that its next step is. */
const LONGEST_KEPT_MS = 60_000

/** The largest number of answers that are kept. A page of topics with its samples is one of them for each broker. */
const MOST_KEPT = 100

const VERSION = 0

type Api = typeof describeBrokerMetrics | typeof describeTopicMetrics

interface Question<A extends Api> {
  readonly api: A
  readonly body: RequestInput<A>
  keptMs(answer: ResponseOf<A>): number
  /** Returns why the answer cannot be right; null if it can. */
  wrongIn(answer: ResponseOf<A>): string | null
}

/** The answers by broker, and the brokers that gave none. */
export interface Asked<Answer> {
  readonly answers: ReadonlyMap<BrokerInfo, Answer>
  readonly silent: readonly SilentBroker[]
}

export interface PeerMetricsRooms {
  readonly cluster: Pick<Cluster, 'brokerId' | 'brokers'>
  readonly peers: Peers
  readonly clock: Clock
}

export class PeerMetrics {
  /** The other brokers with the time limit of a page. */
  readonly peers: Peers
  readonly #rooms: PeerMetricsRooms
  /** By broker and question, oldest first. */
  readonly #kept = new Map<string, Promise<unknown>>()

  constructor(rooms: PeerMetricsRooms) {
    this.#rooms = rooms
    const { peers, clock } = rooms
    this.peers = {
      ask: (brokerId, ...question) =>
        within(clock, ANSWER_MS, peers.ask(brokerId, ...question), () => {
          throw new PeerUnavailable(brokerId, `has not answered within ${ANSWER_MS} ms`, false)
        }),
    }
  }

  /** Asks each other broker that serves for its numbers at this moment. */
  measure(): Promise<Asked<ResponseOf<typeof describeBrokerMetrics>>> {
    return this.#askAll(this.#others(), brokerQuestion(false))
  }

  /** Asks each other broker that serves for its history. */
  history(): Promise<Asked<ResponseOf<typeof describeBrokerMetrics>>> {
    return this.#askAll(this.#others(), brokerQuestion(true))
  }

  /** Asks each other broker that serves for the topics that had traffic in its last step. */
  busyTopics(): Promise<Asked<ResponseOf<typeof describeTopicMetrics>>> {
    return this.#askAll(this.#others(), topicQuestion({ names: null, samples: 0 }))
  }

  /** Asks these brokers for the newest samples of these topics. */
  topicSamples(
    brokers: Iterable<BrokerInfo>,
    names: readonly string[],
    samples: number,
  ): Promise<Asked<ResponseOf<typeof describeTopicMetrics>>> {
    return this.#askAll(brokers, topicQuestion({ names, samples }))
  }

  #others(): readonly BrokerInfo[] {
    const { cluster } = this.#rooms
    return cluster.brokers().filter(({ id, endpoints }) => id !== cluster.brokerId && endpoints.length > 0)
  }

  async #askAll<A extends Api>(brokers: Iterable<BrokerInfo>, question: Question<A>): Promise<Asked<ResponseOf<A>>> {
    const answers = new Map<BrokerInfo, ResponseOf<A>>()
    const silent: SilentBroker[] = []
    const all = Array.from(brokers, async broker => [broker, await this.#keep(broker, question)] as const)
    for (const [broker, answer] of await Promise.all(all)) {
      if (answer instanceof PeerUnavailable) silent.push({ brokerId: broker.id, reason: answer.message })
      else answers.set(broker, answer)
    }
    return { answers, silent }
  }

  #keep<A extends Api>(broker: BrokerInfo, question: Question<A>): Promise<ResponseOf<A> | PeerUnavailable> {
    const { api, body } = question
    const key = JSON.stringify([broker.id, broker.incarnation, api.name, body])
    const known = this.#kept.get(key)
    if (known !== undefined) return known as Promise<ResponseOf<A> | PeerUnavailable>
    const asked = this.#ask(broker, question)
    this.#kept.set(key, asked)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break
      this.#kept.delete(oldest)
    }
    const drop = () => {
      if (this.#kept.get(key) === asked) this.#kept.delete(key)
    }
    asked.then(answer => {
      const forMs = answer instanceof PeerUnavailable ? MOMENT_MS : question.keptMs(answer)
      this.#rooms.clock.timer(forMs, drop)
    }, drop)
    return asked
  }

  async #ask<A extends Api>(
    { id }: BrokerInfo,
    { api, body, wrongIn }: Question<A>,
  ): Promise<ResponseOf<A> | PeerUnavailable> {
    try {
      const answer = await this.peers.ask(id, api, VERSION, body)
      if (answer.errorCode !== NONE) {
        const { name, message } = errorOf(answer.errorCode) ?? UNKNOWN_SERVER_ERROR
        return new PeerUnavailable(id, `has refused to answer (${name}: ${message})`, true)
      }
      const wrong = wrongIn(answer)
      return wrong === null ? answer : new PeerUnavailable(id, wrong, false)
    } catch (error) {
      if (error instanceof PeerUnavailable) return error
      throw error
    }
  }
}

function brokerQuestion(withHistory: boolean): Question<typeof describeBrokerMetrics> {
  return {
    api: describeBrokerMetrics,
    body: { withHistory },
    keptMs: withHistory ? untilNextStep : () => MOMENT_MS,
    wrongIn: wrongInBroker,
  }
}

function topicQuestion(body: {
  readonly names: readonly string[] | null
  readonly samples: number
}): Question<typeof describeTopicMetrics> {
  return {
    api: describeTopicMetrics,
    body,
    keptMs: untilNextStep,
    wrongIn: answer => wrongInTopics(answer, body.samples),
  }
}

function untilNextStep({ nextStepMs }: { readonly nextStepMs: number }): number {
  return Math.min(nextStepMs + CAPTURE_MS, LONGEST_KEPT_MS)
}

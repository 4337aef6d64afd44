// Sends requests to the other brokers of the cluster over the Kafka protocol, as a client of their first listener.
// Each broker has one pipelined connection (peer-link.ts). It opens with the first request, and closes after a while
// without requests. This file repeats a request only if it was certainly not sent, because the other broker has
// changed its certificate or has started again. Otherwise only the caller knows whether a repetition is safe.

import { within } from '../base/clock.ts'
import type { BrokerInfo } from '../cluster/broker-record.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { endpointForPeers, type Peers, PeerUnavailable } from '../cluster/peers.ts'
import type { Api, RequestInput, ResponseOf } from '../protocol/schema.ts'
import type { Logger } from '../telemetry/logger.ts'
import { Link, type LinkRooms, PeerNotTrusted } from './peer-link.ts'

/** The longest time from a request to its answer. It is short because people wait for the answer. */
const ANSWER_MS = 5_000

/** The shortest time between two log lines about brokers that this one does not trust. */
const LOG_EVERY_MS = 10_000

export interface OpenPeers extends Peers {
  /** Rejects the unanswered requests and closes every connection. */
  close(): void
}

export interface PeersRooms extends LinkRooms {
  readonly cluster: Pick<Cluster, 'brokerId' | 'incarnation' | 'brokers' | 'look' | 'watch'>
  readonly logger: Logger
}

export function openPeers(rooms: PeersRooms): OpenPeers {
  const { cluster, clock } = rooms
  const logger = rooms.logger.named('kafka.peers')
  const links = new Map<number, Link>()
  const living = (brokerId: number) => cluster.brokers().find(({ id }) => id === brokerId)
  let closed = false

  function drop(link: Link, why: PeerUnavailable): void {
    if (links.get(link.broker.id) === link) links.delete(link.broker.id)
    link.end(why)
  }

  /** Throws PeerUnavailable if the broker does not serve. */
  function linkTo(brokerId: number): Link {
    const broker = living(brokerId)
    const endpoint = broker === undefined ? null : endpointForPeers(broker)
    if (closed || broker === undefined || endpoint === null) throw new PeerUnavailable(brokerId, 'does not serve', true)
    const known = links.get(brokerId)
    if (known?.broker.incarnation === broker.incarnation && !known.isEnded) return known
    const made = new Link(broker, endpoint, rooms)
    links.set(brokerId, made)
    return made
  }

  cluster.watch({
    changed() {
      for (const link of [...links.values()]) {
        const { id, incarnation } = link.broker
        if (living(id)?.incarnation !== incarnation) drop(link, new PeerUnavailable(id, 'is gone', false))
      }
    },
    looked() {},
  })

  async function askAgain<A extends Api>(
    failed: Link,
    why: PeerNotTrusted,
    leftMs: () => number,
    ...question: readonly [api: A, version: number, body: RequestInput<A>]
  ): Promise<ResponseOf<A>> {
    const { id } = failed.broker
    await within(clock, leftMs(), cluster.look(), () => {})
    const now = living(id)
    try {
      if (now === undefined || isSame(now, failed.broker)) throw why
      return await linkTo(id).ask(...question, leftMs())
    } catch (error) {
      if (error instanceof PeerNotTrusted)
        logger
          .limited(`untrusted ${id}`, LOG_EVERY_MS)
          .warn(`${error.message}; this broker sends it no request`, { error: error.cause })
      throw error
    }
  }

  return {
    async ask(brokerId, api, version, body) {
      const deadlineMs = clock.monotonic() + ANSWER_MS
      const leftMs = () => deadlineMs - clock.monotonic()
      const link = linkTo(brokerId)
      try {
        return await link.ask(api, version, body, leftMs())
      } catch (error) {
        if (!(error instanceof PeerNotTrusted)) throw error
        return await askAgain(link, error, leftMs, api, version, body)
      }
    },

    close() {
      closed = true
      for (const link of [...links.values()])
        drop(link, new PeerUnavailable(link.broker.id, 'was abandoned: this broker closes', false))
    },
  }
}

/** Returns whether a connection to the broker would begin in the same way. */
function isSame(one: BrokerInfo, other: BrokerInfo): boolean {
  const [first, second] = [one, other].map(({ incarnation, certificates, ...rest }) =>
    JSON.stringify([incarnation, certificates, endpointForPeers(rest)]),
  )
  return first === second
}

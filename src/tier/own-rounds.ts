// The part of a round that this broker does: it rolls, drops and cleans the partitions that it leads, when the holder
// of the lease asks for it. The broker does so for no other sender. It reads the document of the lease once for each
// round, so a holder that was paused and lost the lease is refused. The holder asks with the same request until the
// round is over, because a round may take longer than a request may wait. lease.ts says who holds the lease, log/ does
// the work on partitions.

import type { RoundShare } from '../log/logs.ts'
import type { RemoteNews } from '../log/remote-news.ts'
import type { RoundReport } from '../log/round.ts'
import {
  because,
  INVALID_REQUEST,
  isRefusal,
  type Refusal,
  STALE_CONTROLLER_EPOCH,
  UNKNOWN_SERVER_ERROR,
} from '../protocol/errors.ts'
import { MOST_TICK_CONCURRENCY } from '../settings/settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Claim, Lease } from './lease.ts'

export interface RoundRequest extends Claim, RoundShare {
  /** The number of the round. The holder counts its rounds. */
  readonly round: number
  /** The holder knows the news of this broker up to this change (Logs.remoteNews); -1: it wants none. */
  readonly newsSince: number
}

/** The part of a broker in a round that is over. */
export interface OwnPart {
  readonly report: RoundReport
  readonly news: RemoteNews
}

/** Null: the round goes on. */
export type RoundAnswer = OwnPart | null | Refusal

export const NO_NEWS: RemoteNews = Object.freeze({ to: 0, topics: [] })

export interface OwnRoundsRooms {
  readonly lease: Pick<Lease, 'refute'>
  readonly metrics: Metrics
  readonly logger: Logger
  runRound(share: RoundShare): Promise<RoundReport>
  /** See Logs.remoteNews. */
  remoteNews(since: number): RemoteNews
}

export interface OwnRounds {
  /**
   * Starts the round if it is new, and joins the round that is in progress. Resolves to the report if the round is
   * over. STALE_CONTROLLER_EPOCH if the sender does not hold the lease. INVALID_REQUEST if no setting allows the
   * concurrency. Throws what the store throws.
   */
  ask(request: RoundRequest): Promise<RoundAnswer>
}

export function openOwnRounds({ lease, metrics, logger, runRound, remoteNews }: OwnRoundsRooms): OwnRounds {
  /** The newest round: the name by which the holder asks for it, and its result; null while it runs. */
  let newest: { name: string; result: RoundReport | Refusal | null } | null = null

  async function run(share: RoundShare, into: NonNullable<typeof newest>): Promise<void> {
    try {
      into.result = await runRound(share)
    } catch (error) {
      const { name, message } = error instanceof Error ? error : { name: 'unknown', message: String(error) }
      metrics.count('svc.storage.worker.failures', { phase: 'round', error_type: name })
      logger
        .limited('own-round', 60_000)
        .warn('a round of the storage worker failed; the next one tries again', { error })
      into.result = because(UNKNOWN_SERVER_ERROR, `The round failed: ${message}.`)
    }
  }

  /** Returns the news as they are when the round is over: it may have changed documents. */
  function answerOf(result: RoundReport | Refusal | null, since: number): RoundAnswer {
    if (result === null || isRefusal(result)) return result
    return { report: result, news: since < 0 ? NO_NEWS : remoteNews(since) }
  }

  return {
    async ask(request) {
      const { holderId, incarnation, fence, round, concurrency, newsSince } = request
      if (concurrency < 1 || concurrency > MOST_TICK_CONCURRENCY) {
        const wanted = `takes an integer from 1 to ${MOST_TICK_CONCURRENCY}`
        return because(INVALID_REQUEST, `concurrency: got ${concurrency}, ${wanted}.`)
      }
      const name = JSON.stringify([holderId, incarnation, fence, round])
      if (newest?.name === name) return answerOf(newest.result, newsSince)
      const why = await lease.refute(request)
      if (why !== null) {
        metrics.count('svc.storage.worker.refusals', { reason: 'not_holder' })
        logger.limited('refused', 10_000).warn(`a round of the storage worker was refused: ${why}`, { holderId, fence })
        return because(STALE_CONTROLLER_EPOCH, why)
      }
      // Another request may have begun or joined a round while the store answered.
      if (newest?.name === name) return answerOf(newest.result, newsSince)
      if (newest !== null && newest.result === null) newest.name = name
      else {
        newest = { name, result: null }
        void run(request, newest)
      }
      return answerOf(newest.result, newsSince)
    },
  }
}

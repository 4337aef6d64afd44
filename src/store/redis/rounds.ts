// Writes, and the proof that the primary and as many replicas as the operator wants have them. The calls of one turn go
// down a connection together with one WAIT behind them. While that WAIT is in progress, the next round gathers. Without
// replicas to wait for, everything is sent at once.

import type { Clock } from '../../base/clock.ts'
import { isStoreFailure } from '../store.ts'
import type { Argument, Link, Reply } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'

export interface Written {
  /** One for each command. */
  readonly replies: readonly (Reply | RedisError)[]
  /** Whether the replicas have it. False: they may get it later, or never. */
  readonly isConfirmed: boolean
  /**
   * Also true if too few replicas have been connected ever since the store was opened. Then there was no wait: no
   * replica that this broker knows of could take the place of the primary.
   */
  readonly isSettled: boolean
}

export type WrittenOne = Omit<Written, 'replies'> & { readonly reply: Reply }

export interface RoundsOptions {
  /** `write.wait-replicas`. */
  readonly replicas: number
  /** `write.wait-timeout`. */
  readonly timeoutMs: number
  readonly clock: Clock
}

type Commands = readonly (readonly Argument[])[]

interface Job {
  readonly transmit: (link: Link) => Promise<Written['replies']>
  readonly done: PromiseWithResolvers<Written>
}

export interface Rounds {
  /**
   * One unit: all or nothing. Throws what Link.transaction throws. A full Redis refuses every unit, even one that only
   * reads.
   */
  write(link: Link, commands: Commands): Promise<Written>
  /** One after the other on one connection; each error reply stands in its place. */
  writeEach(link: Link, commands: Commands): Promise<Written>
  /** One command that checks for itself; an error reply is thrown. */
  writeOne(link: Link, command: readonly Argument[]): Promise<WrittenOne>
}

export function createRounds({ replicas, timeoutMs, clock }: RoundsOptions): Rounds {
  const gathering = new Map<Link, Job[]>()
  /** From then on a write is settled by replicas alone: a fail-over would take back what they lack. */
  let hasHadReplicas = false

  /** WAIT counts the writes of its own connection only (H4), and blocks it: one at a time. */
  async function run(link: Link, jobs: Job[]): Promise<void> {
    while (jobs.length > 0) {
      const round = jobs.splice(0)
      const { connection } = link
      const sent = round.map(job => job.transmit(link))
      if (!link.lacksReplicas) hasHadReplicas = true
      const waits = hasHadReplicas
      const waited = waits ? link.send(['WAIT', String(replicas), String(timeoutMs)], { connection }) : NO_REPLICAS
      const counted = waited.then(
        reply => Number(reply) >= replicas,
        (error: unknown) => {
          if (isStoreFailure(error) || error instanceof RedisError) {
            return false
          }
          throw error
        },
      )
      const settled = await Promise.allSettled([counted, ...sent])
      const [isConfirmed] = settled as [PromiseSettledResult<boolean>]
      for (const [at, job] of round.entries()) {
        const outcome = settled[at + 1] as PromiseSettledResult<Written['replies']>
        if (outcome.status === 'rejected') job.done.reject(outcome.reason)
        else if (isConfirmed.status === 'rejected') job.done.reject(isConfirmed.reason)
        else {
          const { value } = isConfirmed
          job.done.resolve({ replies: outcome.value, isConfirmed: value, isSettled: value || !waits })
        }
      }
    }
    gathering.delete(link)
  }

  function write(link: Link, transmit: Job['transmit']): Promise<Written> {
    if (replicas === 0) return transmit(link).then(asConfirmed)
    const job: Job = { transmit, done: Promise.withResolvers() }
    const jobs = gathering.get(link)
    if (jobs !== undefined) jobs.push(job)
    else {
      const first = [job]
      gathering.set(link, first)
      clock.soon(() => void run(link, first))
    }
    return job.done.promise
  }

  return {
    write: (link, commands) => write(link, on => on.transaction(commands)),
    writeEach: (link, commands) => write(link, on => sendEach(on, commands)),
    async writeOne(link, command) {
      const { replies, ...told } = await write(link, async on => [await on.send(command)])
      return { reply: replies[0] as Reply, ...told }
    },
  }
}

/** The result of a WAIT that no replica can confirm. */
const NO_REPLICAS = Promise.resolve(0)

function asConfirmed(replies: Written['replies']): Written {
  return { replies, isConfirmed: true, isSettled: true }
}

async function sendEach(link: Link, commands: Commands): Promise<Written['replies']> {
  const { connection } = link
  const sent = commands.map(command =>
    link.send(command, { connection }).catch((error: unknown) => {
      if (error instanceof RedisError) return error
      throw error
    }),
  )
  return await Promise.all(sent)
}

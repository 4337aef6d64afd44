// Sends writes, and proves that the primary and the configured number of replicas have them. The calls of one turn
// are sent on one connection with one WAIT behind them. While this WAIT is in progress, further calls are collected
// for the next round. If no replicas are required, every call is sent at once.

import type { Clock } from '../../base/clock.ts'
import { isStoreFailure } from '../store.ts'
import type { Argument, Link, Reply } from './client/links.ts'
import { RedisError } from './client/redis-error.ts'

export interface Written {
  /** One reply for each command. */
  readonly replies: readonly (Reply | RedisError)[]
  /** Whether the replicas have the write. False: they may get it later, or never. */
  readonly isConfirmed: boolean
  /**
   * True if isConfirmed is true, or if too few replicas have been connected ever since the store was opened. In the
   * second case there was no wait: this broker knows of no replica that could take over from the primary.
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
   * Sends the commands as one transaction: all or nothing. Throws the errors of Link.transaction. A full Redis
   * refuses every transaction, even one that only reads.
   */
  write(link: Link, commands: Commands): Promise<Written>
  /** Sends the commands one after the other on one connection. An error reply takes the place of the reply. */
  writeEach(link: Link, commands: Commands): Promise<Written>
  /** Sends one command that checks its own conditions. Throws an error reply. */
  writeOne(link: Link, command: readonly Argument[]): Promise<WrittenOne>
}

export function createRounds({ replicas, timeoutMs, clock }: RoundsOptions): Rounds {
  const gathering = new Map<Link, Job[]>()
  /** Once true, only replicas can settle a write: a fail-over would lose writes that they do not have. */
  let hasHadReplicas = false

  /** WAIT counts only the writes of its own connection (H4) and blocks the connection, so rounds run one at a time. */
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

/** The result for a round without WAIT: no replica has confirmed it. */
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

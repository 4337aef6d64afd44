// The results of a round of the storage worker in sentences.

import type { BrokerRound, Round } from '../../../src/api/storage.ts'
import type { Tone } from '../../parts/badge.tsx'
import { bytes, counted, duration } from '../../text/format.ts'

type Numbers = Pick<
  BrokerRound,
  'partitions' | 'rolled' | 'droppedBytes' | 'due' | 'cleaned' | 'cleanedBytes' | 'failures'
>

export const OUTCOME_TONES: Readonly<Record<BrokerRound['outcome'], Tone>> = {
  waiting: 'neutral',
  running: 'info',
  done: 'ok',
  refused: 'danger',
  silent: 'danger',
  abandoned: 'warn',
}

/** Returns the sums over all brokers. */
export function sumOf({ brokers }: Pick<Round, 'brokers'>): Numbers {
  const sum = { partitions: 0, rolled: 0, droppedBytes: 0, due: 0, cleaned: 0, cleanedBytes: 0, failures: 0 }
  for (const row of brokers) for (const name of Object.keys(sum) as (keyof Numbers)[]) sum[name] += row[name]
  return sum
}

/**
 * Returns `2 segments sealed, 1 MiB dropped`: the work of the round, with the brokers that have not done their part.
 */
export function workOf(round: Pick<Round, 'brokers' | 'offload'>): string {
  const { rolled, droppedBytes, due, cleaned, cleanedBytes, failures } = sumOf(round)
  const undone = round.brokers.filter(({ outcome }) => OUTCOME_TONES[outcome] === 'danger' || outcome === 'abandoned')
  const parts = [
    ...(rolled > 0 ? [`${counted(rolled, 'segment')} sealed`] : []),
    ...(droppedBytes > 0 ? [`${bytes(droppedBytes)} dropped`] : []),
    ...(cleaned > 0 ? [`${counted(cleaned, 'partition')} cleaned (${bytes(cleanedBytes)} freed)`] : []),
    ...(due > 0 ? [`${counted(due, 'partition')} still to clean`] : []),
    ...offloadOf(round.offload),
    ...(failures > 0 ? [counted(failures, 'failure')] : []),
    ...(undone.length > 0 ? [`without broker ${undone.map(({ id }) => id).join(', ')}`] : []),
  ]
  return parts.length === 0 ? 'nothing was due' : parts.join(', ')
}

function offloadOf(offload: Round['offload']): readonly string[] {
  if (offload === null) return []
  const { segments, bytes: size, failures, waitingSegments } = offload
  return [
    ...(segments > 0 ? [`${counted(segments, 'segment')} offloaded (${bytes(size)})`] : []),
    ...(waitingSegments > 0 ? [`${counted(waitingSegments, 'segment')} still to offload`] : []),
    ...(failures > 0 ? [`${counted(failures, 'failure')} of the offload`] : []),
  ]
}

/** Returns `Round 7 took 120 ms: 2 segments sealed.` Of a round that goes on, the work is not known yet. */
export function reportOf(round: Round): string {
  const { number, tookMs } = round
  return `Round ${number} ${tookMs === null ? 'goes on' : `took ${duration(tookMs)}: ${workOf(round)}`}.`
}

// The effect of a new value of a config, in a sentence for the person who is about to save it.

import type { ConfigStep } from './config-edits.ts'
import { showConfig } from './config-text.ts'

export interface Effect {
  readonly text: string
  /** True if records are lost or refused. */
  readonly isLoss: boolean
}

const NO_LIMIT = -1n

type Named = ConfigStep['config']

const gain = (text: string): Effect => ({ text, isLoss: false })
const loss = (text: string): Effect => ({ text, isLoss: true })

/** A change of the policy starts to compact, starts to delete, or both. */
function policyEffect({ value }: Named, to: string): Effect {
  const starts = (policy: string) => to.includes(policy) && !value?.includes(policy)
  const losses = [
    ...(starts('compact')
      ? ['Of each key only the newest record stays, records without a key go, and new records need a key.']
      : []),
    ...(starts('delete') ? ['Records older or larger than the retention are deleted soon.'] : []),
  ]
  if (losses.length === 0) return gain('Records that are gone do not come back.')
  return loss(`${losses.join(' ')} Removed records cannot be brought back.`)
}

const WITH_NEXT_ROUND = () => gain('Takes effect with the next round of the storage worker.')

const LOCAL = () =>
  gain(
    'Offloaded segments leave the local tier earlier or later. Records stay readable until total retention drops them.',
  )

/** The effects by the name of the config. `isLower` is true for a limit that is lower than before. */
const EFFECTS: Readonly<Record<string, (config: Named, to: string, isLower: boolean) => Effect>> = {
  'cleanup.policy': policyEffect,
  'delete.retention.ms': () => gain('Holds for tombstones that the cleaner has not found yet.'),
  'max.compaction.lag.ms': WITH_NEXT_ROUND,
  'min.cleanable.dirty.ratio': WITH_NEXT_ROUND,
  'min.compaction.lag.ms': WITH_NEXT_ROUND,
  'retention.ms': (config, to, isLower) =>
    isLower
      ? loss(`Records older than ${showConfig(config, to)} are deleted soon, and cannot be brought back.`)
      : gain('Records stay longer. Records that were deleted do not come back.'),
  'retention.bytes': (config, to, isLower) =>
    isLower
      ? loss(
          `The oldest records of each partition above ${showConfig(config, to)} are deleted soon, and cannot be brought back.`,
        )
      : gain('Partitions may grow larger. Records that were deleted do not come back.'),
  'remote.storage.enable': (_, to) =>
    to === 'true'
      ? gain('Sealed segments go to the remote tier, in the next rounds of the storage worker.')
      : loss(
          'The table of the topic is dropped. Records that only the remote tier has are gone for Kafka and for SQL.',
        ),
  'remote.log.copy.disable': (_, to) =>
    to === 'true'
      ? loss('No further segment goes to the remote tier. Its records stay readable, and new ones are only local.')
      : gain('Sealed segments go to the remote tier again.'),
  'remote.log.delete.on.disable': () =>
    gain('Takes effect when remote.storage.enable becomes false: true drops the table, false refuses the change.'),
  'local.retention.ms': LOCAL,
  'local.retention.bytes': LOCAL,
  'max.message.bytes': (config, to, isLower) =>
    isLower
      ? loss(`Batches above ${showConfig(config, to)} are refused from now on. Stored ones stay.`)
      : gain('Larger batches are accepted from now on. Consumers need room for them.'),
  'message.timestamp.type': (_, to) =>
    gain(
      to === 'LogAppendTime'
        ? 'New records get the time at which the broker appends them.'
        : 'New records keep the time that their producer gave them.',
    ),
  'message.timestamp.before.max.ms': (_, __, isLower) =>
    isLower
      ? loss('Records with older timestamps are refused from now on.')
      : gain('Records with older timestamps are accepted from now on.'),
  'message.timestamp.after.max.ms': (_, __, isLower) =>
    isLower
      ? loss('Records with timestamps further in the future are refused from now on.')
      : gain('Records with timestamps further in the future are accepted from now on.'),
  'segment.ms': () => gain('Holds for segments that are open now and for later ones.'),
}

/** Returns what saving the step does. */
export function effectOf({ config, to }: ConfigStep): Effect {
  if (config.because !== null) return gain(`No effect: ${config.because}`)
  if (to === null)
    return gain(
      `The topic inherits the value of its pattern or setting; the default is ${showConfig(config, config.default)}.`,
    )
  const effect = EFFECTS[config.name]
  return effect === undefined ? gain('Takes effect at once.') : effect(config, to, isLower(config.value, to))
}

function isLower(from: string | null, to: string): boolean {
  if (from === null || !/^-?\d+$/.test(from) || !/^-?\d+$/.test(to)) return false
  const [before, after] = [BigInt(from), BigInt(to)]
  if (after === NO_LIMIT) return false
  return before === NO_LIMIT || after < before
}

// The words of the schema registry as people read them: formats, levels, modes, and the answers of the judge.

import type { SchemaPartRule } from '../../../src/api/judged-topics.ts'
import type { SchemaDeletion } from '../../../src/api/schemas.ts'
import { SCHEMA_LEVELS, SCHEMA_MODES, SCHEMA_TYPES } from '../../../src/api/words.ts'
import type { Tone } from '../../parts/badge.tsx'
import { counted } from '../../text/format.ts'
import type { SchemaType } from '../../text/schema-formats.ts'

export type Level = (typeof SCHEMA_LEVELS)[number]
export type Mode = (typeof SCHEMA_MODES)[number]
type Action = SchemaPartRule['action']
type Strategy = SchemaPartRule['strategy']

/** The demand of each level on a new version. */
export const LEVEL_SENTENCES: Readonly<Record<Level, string>> = {
  NONE: 'A new version is compared with no other one.',
  BACKWARD: 'A new version reads all that the latest version writes. Change consumers first.',
  BACKWARD_TRANSITIVE: 'A new version reads all that every earlier version writes. Change consumers first.',
  FORWARD: 'The latest version reads all that a new version writes. Change producers first.',
  FORWARD_TRANSITIVE: 'Every earlier version reads all that a new version writes. Change producers first.',
  FULL: 'A new version and the latest one read all that the other one writes.',
  FULL_TRANSITIVE: 'A new version and every earlier one read all that the other one writes.',
}

export const MODE_SENTENCES: Readonly<Record<Mode, string>> = {
  READWRITE: 'Schemas can be registered, changed in their level, and deleted.',
  READONLY: 'Registrations, deletions and other levels are refused.',
  IMPORT: 'Clients register schemas with the ids and versions of another registry. Other registrations are refused.',
}

export const levelOf = (text: string): Level => SCHEMA_LEVELS.find(each => each === text) ?? 'BACKWARD'
export const modeOf = (text: string): Mode => SCHEMA_MODES.find(each => each === text) ?? 'READWRITE'
export const typeOf = (text: string): SchemaType => SCHEMA_TYPES.find(each => each === text) ?? 'AVRO'

interface Shown {
  readonly tone: Tone
  readonly text: string
  /** The meaning, in a sentence. */
  readonly title: string
}

export const ACTIONS: Readonly<Record<Action, Shown>> = {
  reject: { tone: 'ok', text: 'reject', title: 'A record that is not valid is refused.' },
  count: { tone: 'warn', text: 'count', title: 'A record that is not valid is stored and counted.' },
  off: { tone: 'neutral', text: 'off', title: 'Records are not checked.' },
}

/** How the subject of a record is found, in a sentence. */
export const STRATEGIES: Readonly<Record<Strategy, string>> = {
  TopicName: 'The subject is named after the topic.',
  RecordName: 'Each record names its subject: the full name of its type.',
  TopicRecordName: 'Each record names its subject: the topic, and the full name of its type.',
}

/** Returns a reason as a sentence. */
export function sentenceOf(reason: string): string {
  return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}${/[.!?…]$/.test(reason) ? '' : '.'}`
}

/** Returns the sum of the refused records of some parts of topics. */
export function refusedOf(parts: readonly { readonly refused: number }[]): number {
  return parts.reduce((sum, { refused }) => sum + refused, 0)
}

/** Returns the effect of a deletion in a sentence, before it is done. */
export function effectOf({ permanent, versions }: Pick<SchemaDeletion, 'permanent' | 'versions'>): string {
  const those = counted(versions.length, 'version')
  const [them, its] = versions.length === 1 ? ['it', 'its id'] : ['them', 'their ids']
  if (permanent) return `This removes ${those} for good. Records that name ${its} can still be read.`
  return `This deletes ${those}: clients no longer find ${them} in lists. Records that name ${its} can still be read.`
}

/** Returns a sentence about the versions that a schema was compared with. */
export function comparedWith(versions: readonly number[], level: Level): string {
  if (level === 'NONE') return 'The level NONE compares it with no other version.'
  if (versions.length === 0) return 'There is no version to compare it with.'
  const named = versions.slice(0, MOST_NAMED).join(', ')
  const rest = versions.length > MOST_NAMED ? ` and ${versions.length - MOST_NAMED} more` : ''
  return `The level ${level} compared it with ${versions.length === 1 ? 'version' : 'versions'} ${named}${rest}.`
}

const MOST_NAMED = 10

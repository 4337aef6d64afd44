// Compatibility of a schema with the versions of a subject: which versions count, in which direction, and the reasons
// as clients see them. A format compares two schemas (format.ts).

import { cut } from '../../base/cut.ts'
import type { Difference, Policy } from '../format.ts'
import type { RegistryRefusal } from '../refusals.ts'
import type { JsonObject, StoredContent } from '../state/content.ts'
import { type Level, levelOf, liveVersions, type Subject, type SubjectVersion } from '../state/subject.ts'
import { isUnusable } from '../work/unusable.ts'
import { type Candidate, refusalOf } from './candidate.ts'
import { contentOf, sourceOf } from './dependencies.ts'
import type { VerbRooms } from './rooms.ts'

/** The level and the rest of a configuration that count for a subject. */
export interface InForce {
  readonly level: Level
  readonly policy: Policy
  /** Only versions that have the same value of this metadata property are compared. */
  readonly group: string | null
  readonly isNormalizing: boolean
}

export interface Incompatible {
  readonly kind: 'incompatible'
  /** The version that the schema does not fit. */
  readonly version: number
  /** As in Confluent's answers: one for each reason, then the old version, its text and the level. */
  readonly messages: readonly string[]
  readonly differences: readonly Difference[]
}

/** The most characters of the old schema that a message quotes. */
const MOST_QUOTED = 16_384

export function inForce({ defaultLevel }: Pick<VerbRooms, 'defaultLevel'>, subject: Subject, global: Subject): InForce {
  const member = (name: string) => subject.config[name] ?? global.config[name]
  const group = member('compatibilityGroup')
  return {
    level: levelOf(subject) ?? levelOf(global) ?? defaultLevel,
    policy: member('compatibilityPolicy') === 'LENIENT' ? 'LENIENT' : 'STRICT',
    group: typeof group === 'string' && group !== '' ? group : null,
    isNormalizing: member('normalize') === true,
  }
}

/** Resolves with null if the schema fits all versions that the level compares it with, newest first. */
export async function checkAll(
  rooms: VerbRooms,
  subject: Subject,
  candidate: Candidate,
  force: InForce,
): Promise<Incompatible | RegistryRefusal | null> {
  if (force.level === 'NONE') return null
  const isTransitive = force.level.endsWith('_TRANSITIVE')
  for (const row of liveVersions(subject).toReversed()) {
    const old = await contentOf(rooms.state, row.guid)
    if (force.group !== null && groupOf(old, force.group) !== groupOf(candidate.content, force.group)) continue
    const found = await checkOne(rooms, row, old, candidate, force)
    if (found !== null || !isTransitive) return found
  }
  return null
}

/** Resolves with null if the schema fits this version by the direction of the level. */
export async function checkOne(
  { state, work }: VerbRooms,
  { version }: SubjectVersion,
  old: StoredContent,
  { content, source }: Candidate,
  { level, policy }: InForce,
): Promise<Incompatible | RegistryRefusal | null> {
  if (level === 'NONE') return null
  if (old.type !== content.type) {
    const description = `The new schema is of type ${content.type} and the old one of type ${old.type}`
    const reason = { type: 'INCOMPATIBLE_SCHEMA_TYPE', path: '/', description }
    return incompatible(version, old, level, [reason], ['Incompatible because of different schema type'])
  }
  const former = await sourceOf(state, old)
  const differences: Difference[] = []
  for (const [isThis, reader, writer] of [
    [/^(BACKWARD|FULL)/.test(level), source, former],
    [/^(FORWARD|FULL)/.test(level), former, source],
  ] as const) {
    if (!isThis) continue
    const found = await work.compare(content.type, reader, writer, policy)
    if (isUnusable(found)) return refusalOf(content.type, found)
    differences.push(...found)
  }
  if (differences.length === 0) return null
  return incompatible(version, old, level, differences, differences.map(messageOf))
}

function incompatible(
  version: number,
  old: StoredContent,
  level: Level,
  differences: readonly Difference[],
  reasons: readonly string[],
): Incompatible {
  const text = old.schema.length > MOST_QUOTED ? `${old.schema.slice(0, MOST_QUOTED)}…` : old.schema
  const messages = [
    ...reasons,
    `{oldSchemaVersion: ${version}}`,
    `{oldSchema: '${text}'}`,
    `{validateFields: 'false', compatibility: '${level}'}`,
  ]
  return { kind: 'incompatible', version, messages, differences }
}

function messageOf({ type, path, description }: Difference): string {
  return `{errorType:'${type}', description:'${description}', additionalInfo:'${cut(path)}'}`
}

export function groupOf({ metadata }: { readonly metadata: JsonObject | null }, group: string): unknown {
  return (metadata?.properties as JsonObject | undefined)?.[group] ?? null
}

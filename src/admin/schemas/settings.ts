// Levels and modes for operators. A subject is named by its name, and all subjects without settings of their own by
// null.

import type { ShownSchemaLevel, ShownSchemaMode } from '../../api/schemas.ts'
import type { SchemaLevel, SchemaMode } from '../../api/words.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../../registry/refusals.ts'
import type { Registry } from '../../registry/registry.ts'
import { objectionToSubject } from '../../registry/subject-names.ts'
import { type Declined, declined } from '../declined.ts'

export async function showLevel(registry: Registry, subject: string | null): Promise<ShownSchemaLevel> {
  if (subject === null) {
    const { level, ownLevel, fallback } = await registry.surveyGlobal()
    return { subject, level, origin: ownLevel === null ? 'default' : 'global', fallback: fallback.level }
  }
  const { level, ownLevel, global } = await registry.surveyOne(subject)
  const origin = ownLevel !== null ? 'subject' : global.ownLevel !== null ? 'global' : 'default'
  return { subject, level, origin, fallback: global.level }
}

export interface ExpectedLevel {
  /** The subject's own level, or the global one, as it was shown; null without one. */
  readonly ownLevel: SchemaLevel | null
}

/**
 * With null the level is removed, and the rest of the configuration stays. With `expected` the level is changed only if
 * it is still the one that was shown.
 */
export async function changeLevel(
  registry: Registry,
  subject: string | null,
  level: SchemaLevel | null,
  expected?: ExpectedLevel,
): Promise<ShownSchemaLevel | RegistryRefusal | Declined> {
  if (level === null && subject !== null && (await registry.surveyOne(subject)).ownLevel === null)
    return refusals.noSubjectLevel(subject)
  const changed = await registry.putConfig(subject, { compatibility: level }, expected)
  if (!isRefusal(changed)) return await showLevel(registry, subject)
  return changed.code === OUTDATED ? declined('PREVIEW_OUTDATED') : changed
}

const OUTDATED = refusals.outdated().code

export interface LevelPreview extends ExpectedLevel {
  readonly before: ShownSchemaLevel
  readonly after: ShownSchemaLevel
  /** The names of the subjects whose level in force changes, in order. */
  readonly changed: readonly string[]
}

/** Resolves to the levels before and after a change, and changes nothing. A change that would be refused is refused. */
export async function previewLevel(
  registry: Registry,
  subject: string | null,
  level: SchemaLevel | null,
): Promise<LevelPreview | RegistryRefusal> {
  const objection = subject === null ? null : objectionToSubject(subject)
  if (objection !== null) return objection
  const before = await showLevel(registry, subject)
  const one = subject === null ? null : await registry.surveyOne(subject)
  const { ownLevel, mode } = one ?? (await registry.surveyGlobal())
  const globalLevel = one === null ? null : one.global.ownLevel
  if (level === null && subject !== null && ownLevel === null) return refusals.noSubjectLevel(subject)
  if (mode === 'READONLY') return refusals.readOnly(subject)
  const inForce = level ?? before.fallback
  const fallbackOrigin = globalLevel === null ? 'default' : 'global'
  const origin = level === null ? fallbackOrigin : subject === null ? 'global' : 'subject'
  const after = { ...before, level: inForce, origin } as const
  const isChange = inForce !== before.level
  const others = isChange && subject === null ? (await registry.surveyAll()).subjects : []
  const inheriting = others.filter(each => each.ownLevel === null).map(each => each.subject.name)
  const changed = isChange && subject !== null ? [subject] : inheriting
  return { ownLevel, before, after, changed }
}

export async function showMode(registry: Registry, subject: string | null): Promise<ShownSchemaMode> {
  if (subject === null) {
    const { mode, ownMode, fallback } = await registry.surveyGlobal()
    return { subject, mode, origin: ownMode === null ? 'default' : 'global', fallback: fallback.mode }
  }
  const { mode, ownMode, global } = await registry.surveyOne(subject)
  const origin = ownMode !== null ? 'subject' : global.ownMode !== null ? 'global' : 'default'
  return { subject, mode, origin, fallback: global.mode }
}

/** With null the mode is removed. `isForced` sets IMPORT although there are versions. */
export async function changeMode(
  registry: Registry,
  subject: string | null,
  mode: SchemaMode | null,
  { isForced = false } = {},
): Promise<ShownSchemaMode | RegistryRefusal> {
  if (mode === null && subject !== null && (await registry.surveyOne(subject)).ownMode === null)
    return refusals.noSubjectMode(subject)
  const changed =
    mode === null ? await registry.deleteMode(subject) : await registry.putMode(subject, mode, { isForced })
  return isRefusal(changed) ? changed : await showMode(registry, subject)
}

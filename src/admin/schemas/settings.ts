// Levels and modes for operators. A subject is named by its name, and all subjects without settings of their own by
// null.

import type { ShownSchemaLevel, ShownSchemaMode } from '../../api/schemas.ts'
import type { SchemaLevel, SchemaMode } from '../../api/words.ts'
import { isRefusal, type RegistryRefusal, refusals } from '../../registry/refusals.ts'
import type { Registry } from '../../registry/registry.ts'

export async function showLevel(registry: Registry, subject: string | null): Promise<ShownSchemaLevel> {
  if (subject === null) {
    const { level, ownLevel, fallback } = await registry.surveyGlobal()
    return { subject, level, origin: ownLevel === null ? 'default' : 'global', fallback: fallback.level }
  }
  const { level, ownLevel, global } = await registry.surveyOne(subject)
  const origin = ownLevel !== null ? 'subject' : global.ownLevel !== null ? 'global' : 'default'
  return { subject, level, origin, fallback: global.level }
}

/** With null the level is removed, and the rest of the configuration stays. */
export async function changeLevel(
  registry: Registry,
  subject: string | null,
  level: SchemaLevel | null,
): Promise<ShownSchemaLevel | RegistryRefusal> {
  if (level === null && subject !== null && (await registry.surveyOne(subject)).ownLevel === null)
    return refusals.noSubjectLevel(subject)
  const changed = await registry.putConfig(subject, { compatibility: level })
  return isRefusal(changed) ? changed : await showLevel(registry, subject)
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

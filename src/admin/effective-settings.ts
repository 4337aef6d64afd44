// What this broker is set to, and where each value was written. Settings hold for the life of the process: nothing changes here.

import type { Shape } from '../settings/settings.ts'
import { fullKey, type Key, keys, type Settings, settingsTable } from '../settings/settings.ts'

export interface EffectiveSetting {
  readonly key: string
  /** As it would be written, an empty list as an empty text, of entries only how many; null where there is none, and always for secrets. */
  readonly value: string | null
  /** `default`, `environment variable SVC_…`, `command line`, or file:line:column. */
  readonly source: string
  readonly isSet: boolean
  readonly isSecret: boolean
  /** As it would be written; null where there is none, or it is a secret. */
  readonly default: string | null
  readonly type: string
  readonly documentation: string
  /** What this version does not have, so that the setting does nothing; null when it acts. */
  readonly notYet: string | null
}

/** Every setting, by key. */
export function listSettings(settings: Settings): readonly EffectiveSetting[] {
  return keys
    .map(key => describeSetting(settings, key))
    .sort((one, other) => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0))
}

function describeSetting(settings: Settings, key: Key): EffectiveSetting {
  const { shape, fallbackText, doc, notYet = null } = settingsTable[key]
  const isSecret = shape.kind !== 'entries' && scalarOf(shape).name === 'secret'
  const isSet = settings.isSet(key)
  const value = isSecret || settings.get(key) === null ? null : settings.show(key)
  return {
    key: fullKey(key),
    value,
    source: settings.origin(key),
    isSet,
    isSecret,
    default: isSecret ? null : fallbackText,
    type: typeOf(shape),
    documentation: doc,
    notYet,
  }
}

function typeOf(shape: Shape): string {
  if (shape.kind === 'entries') return 'list of entries'
  const { name } = scalarOf(shape)
  return shape.kind === 'one' ? name : `${shape.kind} of ${name}`
}

function scalarOf(shape: Exclude<Shape, { kind: 'entries' }>) {
  return shape.kind === 'one' ? shape.type : shape.item
}

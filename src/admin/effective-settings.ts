// Lists the settings of this broker, and where each value was written. Settings do not change until the process ends.

import type { EffectiveSetting } from '../api/settings.ts'
import type { Shape } from '../settings/settings.ts'
import { fullKey, type Key, keys, type Settings, settingsTable } from '../settings/settings.ts'

/** Returns all settings, sorted by key. */
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

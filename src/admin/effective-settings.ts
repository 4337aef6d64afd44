// Lists the settings of this broker, and where each value was written. Settings do not change until the process ends.

import type { EffectiveSetting, SettingList, SettingListQuery } from '../api/settings.ts'
import type { Shape } from '../settings/settings.ts'
import { fullKey, type Key, keys, type Settings, settingsTable } from '../settings/settings.ts'
import { unitOf } from '../settings/units.ts'
import { pageOf, searchFor } from './paging.ts'

/** Returns a page of the settings. Secrets are not shown. */
export function listSettingPage(settings: Settings, query: SettingListQuery): SettingList {
  const isWanted = searchFor(query.q)
  const wanted = listSettings(settings).filter(({ key, isSet }) => {
    return isWanted(key) && (query.set === undefined || isSet === (query.set === 'true'))
  })
  const by = { key: ({ key }: EffectiveSetting) => key, source: ({ source }: EffectiveSetting) => source }
  return { settings: pageOf(wanted, query, by[query.sort], by.key), total: wanted.length }
}

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
    ...howWritten(key),
    documentation: doc,
    notYet,
  }
}

/** Returns how the value of a setting is written. A duration or a size is written with its unit. */
export function howWritten(key: Key): Pick<EffectiveSetting, 'unit' | 'choices'> {
  const { shape } = settingsTable[key]
  if (shape.kind === 'entries') return { unit: null, choices: null }
  const { name, choices } = scalarOf(shape)
  return { unit: name === 'integer' ? unitOf(key) : null, choices: choices === null ? null : [...choices] }
}

function typeOf(shape: Shape): string {
  if (shape.kind === 'entries') return 'list of entries'
  const { name } = scalarOf(shape)
  return shape.kind === 'one' ? name : `${shape.kind} of ${name}`
}

function scalarOf(shape: Exclude<Shape, { kind: 'entries' }>) {
  return shape.kind === 'one' ? shape.type : shape.item
}

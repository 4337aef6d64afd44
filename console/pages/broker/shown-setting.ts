// A setting as the page shows it, from either source: the settings of the broker that answers, or the configs of
// another broker, which tell less.

import type { BrokerConfig } from '../../../src/api/brokers.ts'
import type { EffectiveSetting } from '../../../src/api/settings.ts'

export interface ShownSetting {
  readonly name: string
  /** Null if there is no value, and for secrets. */
  readonly value: string | null
  /** Undefined if the broker does not tell. */
  readonly default: string | null | undefined
  readonly source: string | undefined
  readonly isSet: boolean
  readonly isSecret: boolean
  readonly unit: string | null
  readonly documentation: string
  /** The capability without which the setting has no effect; null if it has one. */
  readonly notYet: string | null
}

export function ofSetting({ key, ...setting }: EffectiveSetting): ShownSetting {
  return { name: key, ...setting }
}

export function ofConfig({ isSensitive, ...config }: BrokerConfig): ShownSetting {
  return { ...config, isSecret: isSensitive, default: undefined, source: undefined, notYet: null }
}

/** Returns the settings whose name, value or documentation contains the text, in any case. */
export function filterSettings(
  settings: readonly ShownSetting[],
  text: string,
  onlySet: boolean,
): readonly ShownSetting[] {
  const wanted = text.trim().toLowerCase()
  return settings.filter(
    ({ name, value, documentation, isSet }) =>
      (isSet || !onlySet) && [name, value ?? '', documentation].some(each => each.toLowerCase().includes(wanted)),
  )
}

/** Returns the value as a text with its unit. A setting without a value shows its default, if it has one. */
export function valueText(setting: ShownSetting): string {
  const { value, default: fallback = null, isSecret, isSet, unit } = setting
  if (isSecret) return isSet ? 'set, not shown' : 'not set'
  return bareText(isSet ? value : (value ?? fallback), unit)
}

/** Returns a value that is no secret, with its unit. */
export function bareText(value: string | null, unit: string | null): string {
  if (value === null) return 'no value'
  if (value === '') return 'empty'
  return unit === null ? value : `${value} ${unit}`
}

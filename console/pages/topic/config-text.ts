// The values of topic configs as people read and write them. A value is a text that may pass 2^53, so that no number is
// used. The broker decides which values are allowed; units.ts knows the units.

import type { ShownConfig } from '../../../src/api/topics.ts'
import { count } from '../../text/format.ts'
import { type Read, readDuration, readSize } from '../../text/read-units.ts'
import { NO_LIMIT, showDuration, showSize } from '../../text/units.ts'

type Named = Pick<ShownConfig, 'name' | 'unit'>

/** Returns the text of a field that `readConfig` takes back: `7 d`, `1 GiB`, `zstd`. */
export function writeConfig({ unit }: Pick<ShownConfig, 'unit'>, value: string): string {
  return unit === 'ms' ? showDuration(value) : unit === 'bytes' ? showSize(value) : value
}

/** Returns the exact value of a text in a field, or a sentence that says what is expected. */
export function readConfig({ unit }: Pick<ShownConfig, 'unit'>, text: string): Read {
  if (unit === 'ms') return readDuration(text)
  if (unit === 'bytes') return readSize(text)
  return { value: text.trim() }
}

const AS_RETENTION = '-2'
const LOCAL = 'local.'
/** Kafka's default of configs that -1 does not turn off, such as flush.ms. */
const LONG_MAX = '9223372036854775807'

/** Returns the value with its unit: `7 d`, `no limit`, `1,000 records`, `as retention.ms`. */
export function showConfig({ name, unit }: Named, value: string | null): string {
  if (value === null || value === '') return 'empty'
  if (value === AS_RETENTION && name.startsWith(LOCAL)) return `as ${name.slice(LOCAL.length)}`
  if (unit !== null && value === LONG_MAX) return NO_LIMIT
  if (unit === 'ms' || unit === 'bytes') return writeConfig({ unit }, value)
  if (unit === null) return value
  return `${/^-?\d+$/.test(value) ? count(BigInt(value)) : value} ${unit}`
}

/** Returns the exact value with its smallest unit, if it is shown in another form; else null. */
export function exactConfig({ name, unit }: Named, value: string | null): string | null {
  if (value === null || unit === null) return null
  // A negative value is a word, such as no limit.
  const exact = value.startsWith('-') ? value : `${value} ${unit === 'bytes' ? 'B' : unit}`
  return showConfig({ name, unit }, value) === exact ? null : exact
}

/** Returns where the value comes from: `topic`, `pattern logs-*`, `svc.…`, `default`. */
export function sourceOf({ source, pattern, origin }: Pick<ShownConfig, 'source' | 'pattern' | 'origin'>): string {
  if (source !== 'settings') return source
  return pattern === null ? (origin ?? source) : `pattern ${pattern}`
}

/** Returns what a topic takes over if it does not set the config: `inherits 7 d from pattern logs-*`. */
export function inheritance(entry: ShownConfig): string {
  const value = showConfig(entry, entry.value)
  return entry.source === 'default' ? `inherits ${value}, the default` : `inherits ${value} from ${sourceOf(entry)}`
}

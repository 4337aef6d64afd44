// The messages that proto3 JSON writes in a form of their own (protobuf.dev/programming-guides/json): times,
// durations, field masks, and which messages stand for any JSON or for a bare value.

export const ANY = 'google.protobuf.Any'
export const TIMESTAMP = 'google.protobuf.Timestamp'
export const DURATION = 'google.protobuf.Duration'
export const FIELD_MASK = 'google.protobuf.FieldMask'
export const STRUCT = 'google.protobuf.Struct'
export const VALUE = 'google.protobuf.Value'
export const LIST_VALUE = 'google.protobuf.ListValue'
export const NULL_VALUE = 'google.protobuf.NullValue'
const WRAPPER = /^google\.protobuf\.(?:Double|Float|U?Int(?:64|32)|Bool|String|Bytes)Value$/

const SPECIAL: ReadonlySet<string> = new Set([
  ANY,
  TIMESTAMP,
  DURATION,
  FIELD_MASK,
  STRUCT,
  VALUE,
  LIST_VALUE,
  'google.protobuf.Empty',
])

/** Messages whose field `value` is written bare. */
export function isWrapper(fullName: string): boolean {
  return WRAPPER.test(fullName)
}

/** Messages that an Any shows under "value". */
export function isSpecial(fullName: string): boolean {
  return SPECIAL.has(fullName) || isWrapper(fullName)
}

const BILLION = 1_000_000_000
/** 0001-01-01 and 9999-12-31T23:59:59. */
const FIRST_SECOND = -62_135_596_800n
const LAST_SECOND = 253_402_300_799n
const MOST_SECONDS = 315_576_000_000n

/** `1972-01-01T10:00:20.021Z`; null if the values are no time that JSON can write. */
export function timestampText(seconds: bigint, nanos: number): string | null {
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos >= BILLION) return null
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  return `${whole}${fraction(nanos)}Z`
}

/** `-1.500s`; null if the values are no duration. */
export function durationText(seconds: bigint, nanos: number): string | null {
  if (seconds > MOST_SECONDS || seconds < -MOST_SECONDS || Math.abs(nanos) >= BILLION) return null
  if ((seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) return null
  const isNegative = seconds < 0n || nanos < 0
  const whole = seconds < 0n ? -seconds : seconds
  return `${isNegative ? '-' : ''}${whole}${fraction(Math.abs(nanos))}s`
}

/** Nothing, or three, six or nine digits. */
function fraction(nanos: number): string {
  if (nanos === 0) return ''
  const digits = String(nanos).padStart(9, '0')
  return `.${digits.replace(/(?:000){1,2}$/, '')}`
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const DURATION_TEXT = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/

export interface Seconds {
  readonly seconds: bigint
  readonly nanos: number
}

/** Null if the text is no RFC 3339 time. */
export function timestampOf(text: string): Seconds | null {
  const parts = TIME.exec(text)
  if (parts === null) return null
  const [, year, month, day, hour, minute, second, digits = '', sign = '+', offsetHours = '0', offsetMinutes = '0'] =
    parts
  const time = Date.UTC(2000, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  const date = new Date(time)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  const isReal = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
  if (!isReal || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -60 : 60)
  const seconds = BigInt(date.getTime() / 1000 - offset)
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND) return null
  return { seconds, nanos: Number(digits.padEnd(9, '0')) }
}

/** Null if the text is no duration. */
export function durationOf(text: string): Seconds | null {
  const parts = DURATION_TEXT.exec(text)
  if (parts === null) return null
  const [, sign, whole = '0', digits = ''] = parts
  const seconds = BigInt(whole)
  const nanos = Number(digits.padEnd(9, '0'))
  if (seconds > MOST_SECONDS) return null
  return sign === '-' ? { seconds: -seconds, nanos: -nanos || 0 } : { seconds, nanos }
}

/** Paths of fields as JSON writes them: `a_b.c` is `aB.c`. Null if a path does not come back from that form. */
export function maskText(paths: readonly string[]): string | null {
  const texts = paths.map(path => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))
  return texts.every((text, index) => snakeCase(text) === paths[index]) ? texts.join(',') : null
}

export function maskOf(text: string): string[] {
  return text === '' ? [] : text.split(',').map(snakeCase)
}

function snakeCase(text: string): string {
  return text.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

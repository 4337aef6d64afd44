// The grammars of setting values: they parse text into a value, and name the values that a setting takes. Every
// source (file, environment, command line) gives text, so one grammar serves all of them. The meaning of a key is not
// here.

import { isIPv4, isIPv6 } from 'node:net'
import { parseGlob } from './glob.ts'

/** One type of value. `parse` returns undefined for text of another form; `takes` completes the sentence "takes …". */
export interface Scalar<T> {
  readonly name: string
  readonly takes: string
  /**
   * The bounds beside the type's own grammar: `at least 1s`, `from 1 to 9`, the words of an enum. Blank if there are no
   * bounds.
   */
  readonly limits: string
  /** The words that it takes; null if it takes other values too. */
  readonly choices: readonly string[] | null
  readonly parse: (text: string) => T | undefined
  /** Returns the part of the text that a message or a page may show; the mask for a secret. */
  readonly show: (text: string) => string
}

export const MASK = '***'

const LONGEST_SHOWN = 200

/** Makes text fit one line of a message: escapes control characters and shortens long text. */
function printable(text: string): string {
  const cut = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
  return cut.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    found => `\\u${found.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
}

interface Extras {
  readonly limits?: string
  readonly choices?: readonly string[]
  readonly show?: (text: string) => string
}

function scalar<T>(
  name: string,
  takes: string,
  parse: (text: string) => T | undefined,
  extras: Extras = {},
): Scalar<T> {
  const { limits = '', choices = null, show = printable } = extras
  return Object.freeze({ name, takes: limits === '' ? takes : `${takes}, ${limits}`, limits, choices, parse, show })
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const UNIT_BYTES: Readonly<Record<string, number>> = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 }

function multiply(digits: string, unit: number | undefined): number | undefined {
  const product = unit === undefined ? Number.NaN : Number(digits) * unit
  return Number.isSafeInteger(product) ? product : undefined
}

/** Returns milliseconds for digits and a unit (ms, s, m, h, d), or for a bare 0; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  const found = /^([0-9]{1,16})(ms|s|m|h|d)$/.exec(text)
  return found ? multiply(found[1]!, UNIT_MS[found[2]!]) : undefined
}

/**
 * Returns bytes for digits and a unit (B, KB, MB, GB, TB; 1 KB = 1024 bytes), or for digits alone, which are bytes;
 * undefined for any other text.
 */
export function parseSize(text: string): number | undefined {
  const found = /^([0-9]{1,16})(B|KB|MB|GB|TB)?$/.exec(text)
  return found ? multiply(found[1]!, UNIT_BYTES[found[2] ?? 'B']) : undefined
}

function largestUnit(value: number, units: Readonly<Record<string, number>>, zero: string): string {
  if (value === 0) return zero
  const [name, unit] = Object.entries(units).findLast(([, size]) => value % size === 0) ?? ['', 1]
  return `${value / unit}${name}`
}

/** Returns the shortest text that parses to these milliseconds. */
export function showDuration(ms: number): string {
  return largestUnit(ms, UNIT_MS, '0s')
}

/** Returns the shortest text that parses to these bytes. */
export function showSize(bytes: number): string {
  return largestUnit(bytes, UNIT_BYTES, '0B')
}

export interface Bounds {
  readonly min?: number
  readonly max?: number
}

function within(value: number | undefined, { min = 0, max = Number.MAX_SAFE_INTEGER }: Bounds): number | undefined {
  return value !== undefined && value >= min && value <= max ? value : undefined
}

function sayBounds({ min = 0, max }: Bounds, show: (value: number) => string): string {
  if (max === undefined) return min === 0 ? '' : `at least ${show(min)}`
  return min === 0 ? `at most ${show(max)}` : `from ${show(min)} to ${show(max)}`
}

const DURATION_TAKES = 'a duration: digits and one of ms, s, m, h, d with nothing between (500ms, 30s, 5m)'
const SIZE_TAKES =
  'a data size: digits and one of B, KB, MB, GB, TB with nothing between (64KB, 1MB), or digits alone for bytes'

/** A duration. The value and the bounds are milliseconds. */
export function duration(bounds: Bounds = {}): Scalar<number> {
  const limits = sayBounds(bounds, showDuration)
  return scalar('duration', DURATION_TAKES, text => within(parseDuration(text), bounds), { limits })
}

/** A duration. The value is milliseconds, rounded up to whole seconds. */
export function wholeSeconds(): Scalar<number> {
  return scalar('duration', DURATION_TAKES, text => {
    const ms = parseDuration(text)
    return ms === undefined ? undefined : Math.ceil(ms / 1000) * 1000
  })
}

/** A data size. The value and the bounds are bytes. */
export function size(bounds: Bounds = {}): Scalar<number> {
  const limits = sayBounds(bounds, showSize)
  return scalar('data size', SIZE_TAKES, text => within(parseSize(text), bounds), { limits })
}

/** A duration in milliseconds, or -1 for the word `unlimited`. */
export function durationOrUnlimited(): Scalar<number> {
  return scalar('duration', `${DURATION_TAKES}, or unlimited`, text =>
    text === 'unlimited' ? -1 : parseDuration(text),
  )
}

/** A data size in bytes, or -1 for the word `unlimited`. */
export function sizeOrUnlimited(): Scalar<number> {
  return scalar('data size', `${SIZE_TAKES}, or unlimited`, text => (text === 'unlimited' ? -1 : parseSize(text)))
}

export function integer(bounds: Bounds = {}): Scalar<number> {
  const { min = 0, max = 2 ** 31 - 1 } = bounds
  const parse = (text: string) => (/^-?[0-9]{1,16}$/.test(text) ? within(Number(text), { min, max }) : undefined)
  return scalar('integer', 'an integer', parse, { limits: `from ${min} to ${max}` })
}

/** A TCP port. 0 means "any free port" and passes here; the loader allows it only on a loopback address. */
export function port(): Scalar<number> {
  return scalar('port', 'a TCP port from 1 to 65535', text =>
    /^[0-9]{1,5}$/.test(text) ? within(Number(text), { max: 65535 }) : undefined,
  )
}

export function boolean(): Scalar<boolean> {
  const parse = (text: string) => (text === 'true' ? true : text === 'false' ? false : undefined)
  return scalar('boolean', 'true or false', parse, { choices: ['true', 'false'] })
}

export function oneOf<const T extends string>(...words: readonly T[]): Scalar<T> {
  return Object.freeze({
    ...scalar('enum', `one of ${words.join(', ')}`, text => words.find(word => word === text), { choices: words }),
    limits: words.join(', '),
  })
}

/** Any text that is not blank. */
export function string(): Scalar<string> {
  return scalar('string', 'text that is not blank', text => (text.trim() === '' ? undefined : text))
}

export function filePath(): Scalar<string> {
  return scalar('file path', 'the path of a file', text =>
    text.trim() === '' || text.includes('\0') ? undefined : text,
  )
}

export function folderPath(): Scalar<string> {
  return scalar('folder path', 'the path of a folder', text =>
    text.trim() === '' || text.includes('\0') ? undefined : text,
  )
}

/** A place of the remote tier, checked by consistency.ts. The text before an @ is not shown: it could be a login. */
export function remotePath(): Scalar<string> {
  return scalar('string', 'text that is not blank', text => (text.trim() === '' ? undefined : text), {
    show: text => printable(text.replace(/^(\w+:\/\/)?.*@/s, `$1${MASK}@`)),
  })
}

/** One segment of the keys of objects, which must not be read as a part of a URI. */
export function tableNamespace(): Scalar<string> {
  const parse = (text: string) => (/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(text) ? text : undefined)
  return scalar('string', 'a name', parse, {
    limits: "1 to 128 letters, digits, '_', '-' and '.', beginning with none of the last two",
  })
}

/** Text that no message, page or log line ever shows. Lengths are in characters. */
export function secret(minLength = 1): Scalar<string> {
  const parse = (text: string) => (text.trim() === '' || [...text].length < minLength ? undefined : text)
  const limits = minLength > 1 ? `at least ${minLength} characters` : ''
  return scalar('secret', 'a secret that is not blank', parse, { limits, show: () => MASK })
}

/** `redis://` or `rediss://`. It is shown without credentials and query. A text that is no such URI is not shown. */
export function redisUri(): Scalar<string> {
  const parse = (text: string) =>
    /^rediss?:\/\/[^\s/?#]/.test(text) && URL.canParse(text) && new URL(text).hostname !== '' ? text : undefined
  return scalar('URI', 'a redis:// or rediss:// URI', parse, {
    show(text) {
      if (parse(text) === undefined) return MASK
      const { protocol, username, password, host, pathname, search } = new URL(text)
      const credentials = username === '' && password === '' ? '' : `${MASK}@`
      return printable(`${protocol}//${credentials}${host}${pathname}${search === '' ? '' : `?${MASK}`}`)
    },
  })
}

/** Returns whether the text is an absolute http or https URI in ASCII, with a host, without credentials or fragment. */
export function isHttpUri(text: string): boolean {
  if (!/^https?:\/\/[!-"$-~]+$/i.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** An http or https URI. The text before an @ is not shown, because it could be a password. */
export function httpUri(): Scalar<string> {
  return scalar(
    'URI',
    'an http:// or https:// URI without credentials and without #',
    text => (isHttpUri(text) ? text : undefined),
    { show: text => printable(text.replace(/^([^/]*\/\/)?.*@/s, `$1${MASK}@`)) },
  )
}

const HOST_NAME =
  /^(?=.{1,253}\.?$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$/

function isHostName(text: string): boolean {
  // Digits and dots alone are an address or a mistake, never a name.
  return HOST_NAME.test(text) && (isIPv4(text) || !/^[0-9.]+$/.test(text))
}

function insideBrackets(text: string): string | undefined {
  const inside = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : ''
  return isIPv6(inside) ? inside : undefined
}

/** The host that clients are told to connect to. An IPv6 address is written in brackets and passed on without them. */
export function advertisedHost(): Scalar<string> {
  return scalar(
    'host',
    'a host name, an IPv4 address or an IPv6 address in brackets, without scheme and without port',
    text => insideBrackets(text) ?? (isHostName(text) ? text : undefined),
  )
}

/** The host to bind: a name or an address; an IPv6 address may have brackets. */
export function bindHost(): Scalar<string> {
  return scalar('host', 'a host name or an IP address, without scheme and without port', text =>
    isIPv6(text) ? text : (insideBrackets(text) ?? (isHostName(text) ? text : undefined)),
  )
}

/** One IP address, or a network in CIDR notation. */
export function network(): Scalar<string> {
  return scalar('network', 'an IP address, or a network such as 10.0.0.0/8 or fd00::/8', text => {
    const [address = '', bits, ...more] = text.split('/')
    const most = isIPv4(address) ? 32 : isIPv6(address) ? 128 : 0
    const isWhole = bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= most)
    return most > 0 && isWhole && more.length === 0 ? text : undefined
  })
}

/**
 * The namespace is part of every key in the store, so it takes no character that has a meaning in a key pattern or a
 * hash slot.
 */
export function namespace(): Scalar<string> {
  const parse = (text: string) => (/^[!#$%&()+,\-./0-9;<=>@A-Z^_`a-z|~]{1,128}$/.test(text) ? text : undefined)
  return scalar('string', 'text', parse, {
    limits: '1 to 128 printable ASCII characters without whitespace, quotes, backslash and any of : { } * ? [ ]',
  })
}

/** A glob over topic names, kept as text. */
export function glob(): Scalar<string> {
  return scalar('glob', 'a glob of letters, digits, dot, underscore, dash, *, ? and [classes]', text =>
    parseGlob(text) ? text : undefined,
  )
}

/** A level name in any case. */
export function level(): Scalar<'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'OFF'> {
  const words = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'OFF'] as const
  const parse = (text: string) => words.find(word => word === text.toUpperCase())
  return scalar('level', `one of ${words.join(', ')}`, parse, { choices: words })
}

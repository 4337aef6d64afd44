// Reads a JSON body strictly (RFC 8259, and I-JSON of RFC 7493 where it is stricter). A body that two readers could
// understand differently never reaches a route. The route's own shape checks the members.

/** The deepest nesting. No body that a route takes is nearly as deep. */
const MAX_DEPTH = 64
/** The longest number in characters. The digits of any double fit. */
const MOST_DIGITS = 1_100
/**
 * The most values of a body, names of members included, unless its route takes more. To read 10,000 takes 3 ms; a body
 * of 1 MiB may have 700,000. A body of a route is a few texts, and lists of some hundred.
 */
const MOST_VALUES = 10_000

/**
 * Returns the value, or a sentence that says why the bytes are refused. A value costs far more time than a byte of a
 * string, so values are counted before any of them is made.
 */
export function readJson(
  bytes: Uint8Array,
  mostValues: number = MOST_VALUES,
): { readonly value: unknown } | { readonly refused: string } {
  const text = decode(bytes)
  if (text === null) return { refused: 'The body is not UTF-8.' }
  if (text.startsWith('\uFEFF')) return { refused: 'The body begins with a byte order mark; JSON has none.' }
  if (hasMoreValues(text, mostValues)) return { refused: `The body has more than ${mostValues} values.` }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The engine's own reason quotes the body, which may hold a secret.
    return { refused: 'The body is not JSON.' }
  }
  // A route could not tell it from a request without a body, and no route takes it.
  if (value === null) return { refused: 'The body is null; leave it out, or send an object.' }
  const refused = findAmbiguity(text)
  return refused === null ? { value } : { refused }
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** Matches the rest of a number after its first character. */
const REST_OF_NUMBER = /[\d.eE+-]*/y
/** Matches the escape of a surrogate, paired or not; plain UTF-8 has no surrogates. */
const SURROGATE = /\\u[dD][89a-fA-F]/

const [QUOTE, BACKSLASH, COMMA, COLON, MINUS] = [0x22, 0x5c, 0x2c, 0x3a, 0x2d]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * Returns whether the text has more values and names of members than this. Each of them, but the first one, stands
 * behind a sign that it counts. The text may be anything.
 */
function hasMoreValues(text: string, most: number): boolean {
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at + 1)
    else if (code === COMMA || code === COLON || code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++values > most) return true
    }
  }
  return false
}

/** Returns why a text that JSON.parse accepts is still refused, or null. */
function findAmbiguity(text: string): string | null {
  const hasEscapes = text.includes('\\u')
  /** The keys so far of each open object; null for an array. */
  const open: (Set<string> | null)[] = []
  /** The start and end of a string that may be a key. */
  let [from, to] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      from = at
      at = endOfString(text, at + 1)
      to = at
      // RFC 7493, 2.1. In UTF-8 it would become U+FFFD, which the client did not send.
      if (hasEscapes && hasUnpairedSurrogate(text.slice(from, to + 1)))
        return 'The body has a string with an unpaired surrogate, which stands for no character.'
    } else if (code === COLON) {
      const written = text.slice(from + 1, to)
      const key: string = written.includes('\\') ? JSON.parse(text.slice(from, to + 1)) : written
      const keys = open.at(-1)!
      if (keys!.has(key)) return `The body names ${JSON.stringify(key)} twice in one object.`
      // In a plain object `__proto__` is not a member: it sets the prototype.
      if (key === '__proto__') return 'The body has a member "__proto__".'
      keys!.add(key)
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (open.push(code === OPEN_OBJECT ? new Set() : null) > MAX_DEPTH)
        return `The body is nested more than ${MAX_DEPTH} levels deep.`
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) open.pop()
    else if (code === MINUS || isDigit(code)) {
      const end = endOf(REST_OF_NUMBER, text, at + 1)
      if (end - at > MOST_DIGITS) return `The body has a number of more than ${MOST_DIGITS} characters.`
      // A shorter number is exact, unless it has an exponent.
      if (end - at > 3) {
        const token = text.slice(at, end)
        if (isRounded(token))
          return `The body has the number ${token.slice(0, 40)}, which is too large to be exact; a value that may exceed 2^53 must be a string.`
      }
      at = end - 1
    }
  }
  return null
}

function hasUnpairedSurrogate(written: string): boolean {
  return SURROGATE.test(written) && !(JSON.parse(written) as string).isWellFormed()
}

/**
 * Returns whether the number is an integer that a JavaScript number cannot hold, also if it is written with a
 * fraction or an exponent.
 */
function isRounded(token: string): boolean {
  const value = Number(token)
  if (!Number.isInteger(value)) return !Number.isFinite(value)
  if (Number.isSafeInteger(value)) return false
  return /^-?\d+$/.test(token) || digitsOf(token) !== digitsOf(String(value))
}

/** Returns the significant digits of a number. */
function digitsOf(number: string): string {
  return number.replace(/e.*|[-.]/gi, '').replace(/^0+|0+$/g, '')
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/**
 * Returns the place of the quotation mark that ends a string, or the end of the text. A regular expression would take a
 * tenth of a second for a schema of half a megabyte, where every second character is an escape. It looks at each
 * character at most twice.
 */
function endOfString(text: string, from: number): number {
  for (let at = from; ; at++) {
    at = text.indexOf('"', at)
    if (at === -1) return text.length
    let escapes = 0
    while (at - escapes > from && text.charCodeAt(at - escapes - 1) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at
  }
}

function endOf(rest: RegExp, text: string, from: number): number {
  rest.lastIndex = from
  rest.exec(text)
  return rest.lastIndex
}

// JSON of table metadata without loss. Other engines draw snapshot ids from all of 63 bits, and JSON.parse rounds those
// beyond 2^53. Members that this code does not know must also come out as they went in. This file knows no member.

/** An integer of up to 64 bits. It is a bigint only if a number cannot hold it, so that `===` compares two of them. */
export type Int64 = number | bigint

export type JsonObject = { readonly [member: string]: unknown }

interface RawJson {
  readonly rawJSON: string
}

/** JSON.parse source text access (ECMAScript 2026), which the compiler's library does not declare yet. */
const native = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): RawJson
}

/** Returns the integer as a number if that is exact. */
export function asInt64(value: bigint): Int64 {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/**
 * Parses JSON. An integer that a number cannot hold becomes a bigint. A number whose text JSON.stringify would write
 * differently, such as 1.0, keeps its text; code that expects a number refuses it. Throws SyntaxError.
 */
export function parseJson(text: string): unknown {
  return native.parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value
    if (!/^-?(0|[1-9]\d*)$/.test(source) || source === '-0') return native.rawJSON(source)
    return asInt64(BigInt(source))
  })
}

/** Returns the JSON of a value as parseJson returns it. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? native.rawJSON(String(each)) : each))
}

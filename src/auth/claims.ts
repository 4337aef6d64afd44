// Reads the claims of a verified token that name its owner and the owner's groups. They come from another system, so
// each one is checked before use. The callers decide which claims they need, and word the refusals.

/** The most characters of a name. */
export const NAME_CHARACTERS = 256
/** The most strings in a claim with groups. */
export const MOST_STRINGS = 1_000

/** Returns the claim with exactly this name, undefined without one. A dot in the name leads into no object. */
export function claimOf(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined
}

/**
 * Returns whether the value can be the name of a user. A name must not look like `group:<name>`, nor, through invisible
 * characters, like another name. It must not forge a log line, and it must fit into one.
 */
export function isName(value: unknown): value is string {
  return (
    isLabel(value) && value.trim() !== '' && !/[:\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u.test(value)
  )
}

/** Returns whether the value is a text of 1 to 256 characters without control characters. */
export function isLabel(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value !== '' &&
    [...value].length <= NAME_CHARACTERS &&
    value.isWellFormed() &&
    !/\p{Cc}/u.test(value)
  )
}

/**
 * Returns the strings of a claim with groups: an array of them, or one. A missing claim has none. Returns null for
 * any other value.
 */
export function stringsOf(value: unknown): readonly string[] | null {
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [value]
  return Array.isArray(value) && value.length <= MOST_STRINGS && value.every(each => typeof each === 'string')
    ? value
    : null
}

// The regular expressions of schemas.

/** Compiles a pattern as ECMA-262 with `u`, or without where only that works: Java's accept `\-` too. Else null. */
export function patternOf(pattern: string): RegExp | null {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags)
    } catch {
      // It may be valid without `u`. If not, the caller says where it stands.
    }
  }
  return null
}

// Reasons side by side. Many of them come from a library or the system, and have no full stop.

/** Returns the reasons as one text, in which each of several ends with a full stop. */
export function sentences(reasons: readonly string[]): string {
  return reasons.length === 1 ? reasons[0]! : reasons.map(sentence).join(' ')
}

export const sentence = (text: string) => (text.endsWith('.') ? text : `${text}.`)

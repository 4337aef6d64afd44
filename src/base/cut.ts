// Shortens a text that came from outside, so that a message can quote it.

const LONGEST_SHOWN = 100

/** Returns the text, or its first 100 characters and an ellipsis. */
export function cut(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

// Shortens a foreign text so that a message can repeat it.

const LONGEST_SHOWN = 100

/** The text, or its beginning and an ellipsis. */
export function cut(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

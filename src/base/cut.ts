// Somebody's text made short enough to be repeated in a message.

const LONGEST_SHOWN = 100

/** The text, or its beginning and an ellipsis. */
export function cut(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text
}

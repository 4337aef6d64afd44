// Reads the token of a mechanism whose messages are text.

import { isUtf8 } from 'node:buffer'

const MAX_TOKEN_BYTES = 10 * 1024

/** How a token was read: its text, or why it has none, for the log. */
export type TokenText = { readonly text: string } | { readonly text: null; readonly why: string }

export function textOf(token: Uint8Array): TokenText {
  if (token.length > MAX_TOKEN_BYTES)
    return { text: null, why: `a message of ${token.length} bytes; at most ${MAX_TOKEN_BYTES} are read` }
  if (!isUtf8(token)) return { text: null, why: 'a message that is not UTF-8' }
  return { text: Buffer.from(token).toString() }
}

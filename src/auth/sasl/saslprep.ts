// SASLprep (RFC 4013, a profile of stringprep, RFC 3454): the form in which the names of users are compared. Names
// that look alike become the same name, or are refused. This file does not prepare passwords: Kafka's own clients
// and librdkafka send the hash of a password's UTF-8 bytes as they are.
//
// The tables of RFC 3454 list the characters of Unicode 3.2. Here the properties of Node's Unicode stand for them, so
// that the rules also hold for younger characters.

/** Table B.1: characters that are mapped to nothing. U+200B is also in table C.1.2. */
const NOTHING = /\u034f|\u200d|\p{Variation_Selector}|[\u00ad\u1806\u200b\u200c\u2060\ufeff]/gu

/** Table C.1.2: spaces that are mapped to the ASCII space. */
const NON_ASCII_SPACE = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu

/** Tables C.2 to C.9: control and format characters, private use, surrogates, and signs that belong in no text. */
const PROHIBITED = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u2ff0-\u2ffb\ufffc\ufffd]/u

/** Table D.1: letters and signs of the scripts that are written from right to left, and three that scripts share. */
const RIGHT_TO_LEFT =
  /[[[\p{L}\p{P}\u06fd\u06fe]&&[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]]\u061b\u061f\u0640]/v

/** Table D.2 without the signs and digits of single scripts: letters that are written from left to right. */
const LEFT_TO_RIGHT = new RegExp(`[[\\p{L}\\p{Nl}\\p{Mc}]--${RIGHT_TO_LEFT.source}]`, 'v')

/**
 * Returns the prepared text, which may be empty; null if the text has a prohibited character, or mixes directions of
 * writing (RFC 3454, section 6). A prepared text does not change when it is prepared again. Unassigned characters
 * stay, as in a query.
 */
export function saslprep(text: string): string | null {
  const prepared = text.replace(NOTHING, '').replace(NON_ASCII_SPACE, ' ').normalize('NFKC')
  if (PROHIBITED.test(prepared)) return null
  if (!RIGHT_TO_LEFT.test(prepared)) return prepared
  const characters = [...prepared]
  const ends = [characters[0]!, characters.at(-1)!]
  return ends.every(each => RIGHT_TO_LEFT.test(each)) && !LEFT_TO_RIGHT.test(prepared) ? prepared : null
}

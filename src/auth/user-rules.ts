// What a console user may be called and which passwords are taken; decided once, for the bootstrap, first-run setup and every
// route. Nothing of it is asked at sign-in: a name or password that could not be stored is simply wrong there.

import { settingsTable } from '../settings/settings.ts'

/** Principals of groups are written `group:<name>`, so that no user's name holds a colon (specification, OAUTHBEARER). */
const MAX_USERNAME_CHARACTERS = 128
const MIN_PASSWORD_BYTES = 8
const MAX_PASSWORD_BYTES = 1_024

/** The password that the settings table ships, which anybody can read there. */
const SHIPPED_PASSWORD = settingsTable['admin.password'].fallback()

export function isShippedPassword(password: string): boolean {
  return password === SHIPPED_PASSWORD
}

/** One name is one text: canonically equal ways of writing it are the same. */
export function canonicalUsername(username: string): string {
  return username.normalize('NFC')
}

/** `.` and `..` have a meaning of their own in a URL, percent-encoded too: no request for what has such a name leaves a browser. */
export function isDots(name: string): boolean {
  return name === '.' || name === '..'
}

/** Joiners, fillers and selectors of variants are letters and marks to Unicode, and U+2800 is a symbol: braille without a dot. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

/** What is wrong with the name of a user that is to be made, as a phrase, or null. */
export function objectionToUsername(username: string): string | null {
  if (username === '') return 'is empty'
  if (!username.isWellFormed()) return 'is not well-formed Unicode'
  if ([...username].length > MAX_USERNAME_CHARACTERS) return `is longer than ${MAX_USERNAME_CHARACTERS} characters`
  if (isDots(username)) return "is '.' or '..', which no browser can ask for"
  if (username.includes(':')) return "holds ':', which names of users do not have"
  if (UNSEEN.test(username)) return 'holds a character that cannot be seen'
  if (username !== username.trim()) return 'begins or ends with a space'
  // What looks the same in another width or style would be another user.
  if (username.normalize('NFKC') !== canonicalUsername(username))
    return `holds look-alikes of other characters; write '${username.normalize('NFKC')}'`
  return null
}

/** What is wrong with a password that is to be set, as a phrase that does not hold it, or null. */
export function objectionToPassword(password: string): string | null {
  if (!password.isWellFormed()) return 'is not well-formed Unicode'
  if (isPasswordTooShort(password)) return `is shorter than ${MIN_PASSWORD_BYTES} bytes`
  if (isPasswordTooLong(password)) return `is longer than ${MAX_PASSWORD_BYTES} bytes`
  if (isShippedPassword(password)) return 'is the shipped default, which anybody can read'
  return null
}

/** Whether it is one that only the settings may bring. */
export function isPasswordTooShort(password: string): boolean {
  return Buffer.byteLength(password) < MIN_PASSWORD_BYTES
}

/** Whether it is worth comparing at all: nothing longer is ever stored, and none is cut. */
export function isPasswordTooLong(password: string): boolean {
  return password.length > MAX_PASSWORD_BYTES || Buffer.byteLength(password) > MAX_PASSWORD_BYTES
}

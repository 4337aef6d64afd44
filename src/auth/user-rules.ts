// The rules for names and passwords of console users, for the bootstrap, the first-run setup and every route. Sign-in
// does not use them: there a name or password that breaks a rule is wrong like any other.

import { settingsTable } from '../settings/settings.ts'

/**
 * The longest name of a user. Names also have no colon, because principals of groups are written `group:<name>`
 * (specification, OAUTHBEARER).
 */
const MAX_USERNAME_CHARACTERS = 128
const MIN_PASSWORD_BYTES = 8
const MAX_PASSWORD_BYTES = 1_024

/** The default password of the settings table, which is public. */
const SHIPPED_PASSWORD = settingsTable['admin.password'].fallback()

export function isShippedPassword(password: string): boolean {
  return password === SHIPPED_PASSWORD
}

/** Returns the stored form of a name: canonically equal Unicode texts are the same name. */
export function canonicalUsername(username: string): string {
  return username.normalize('NFC')
}

/**
 * Returns whether the name is `.` or `..`. Both have a meaning in a URL, even percent-encoded, so a browser cannot
 * send a request that names such a user.
 */
export function isDots(name: string): boolean {
  return name === '.' || name === '..'
}

/**
 * Characters that cannot be seen. Unicode classifies joiners, fillers and variation selectors as letters and marks,
 * and U+2800, a braille pattern without a dot, as a symbol.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

/** Returns the objection to the name of a new user, as a phrase; null if the name is allowed. */
export function objectionToUsername(username: string): string | null {
  if (username === '') return 'is empty'
  if (!username.isWellFormed()) return 'is not well-formed Unicode'
  if ([...username].length > MAX_USERNAME_CHARACTERS) return `is longer than ${MAX_USERNAME_CHARACTERS} characters`
  if (isDots(username)) return "is '.' or '..', which no browser can ask for"
  if (username.includes(':')) return "holds ':', which names of users do not have"
  if (UNSEEN.test(username)) return 'holds a character that cannot be seen'
  if (username !== username.trim()) return 'begins or ends with a space'
  // A name that looks the same in another width or style would be another user.
  if (username.normalize('NFKC') !== canonicalUsername(username))
    return `holds look-alikes of other characters; write '${username.normalize('NFKC')}'`
  return null
}

/** Returns the objection to a new password, as a phrase that does not contain the password; null if it is allowed. */
export function objectionToPassword(password: string): string | null {
  if (!password.isWellFormed()) return 'is not well-formed Unicode'
  if (isPasswordTooShort(password)) return `is shorter than ${MIN_PASSWORD_BYTES} bytes`
  if (isPasswordTooLong(password)) return `is longer than ${MAX_PASSWORD_BYTES} bytes`
  if (isShippedPassword(password)) return 'is the default password, which is public'
  return null
}

/** Returns whether the password is too short. Only the settings may set such a password. */
export function isPasswordTooShort(password: string): boolean {
  return Buffer.byteLength(password) < MIN_PASSWORD_BYTES
}

/**
 * Returns whether the password is too long. Then no hash is worth computing: no such password is ever stored, and
 * none is shortened.
 */
export function isPasswordTooLong(password: string): boolean {
  return password.length > MAX_PASSWORD_BYTES || Buffer.byteLength(password) > MAX_PASSWORD_BYTES
}

// The state of a login, which the browser carries in a cookie while its user is at the identity provider. It is
// sealed with AES-256-GCM, so that the browser can neither read nor change it. The broker stores nothing for logins
// that are never finished. Any broker with the same `svc.admin.jwt.secret` can finish a login that another broker
// began.
//
//   base64url( nonce (12) | ciphertext | tag (16) ), the plain text being JSON

import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'

/** The time in ms that the user may take at the provider. */
export const LOGIN_MS = 600_000

export interface Login {
  /**
   * The provider returns this value in the address. Only the browser that began the login has the same value in its
   * cookie.
   */
  readonly state: string
  /** The provider returns this value in the id_token. */
  readonly nonce: string
  /** The code verifier of PKCE (RFC 7636). */
  readonly verifier: string
  /** Values that the provider received at the start; it expects the same values again. */
  readonly redirectUri: string
  /** Where the user wanted to go: a path of this server. */
  readonly returnTo: string
  /** Milliseconds since 1970. */
  readonly expiresAtMs: number
}

export interface LoginSeal {
  seal(login: Login): string
  /** Returns the login; null if another secret sealed it, if it was changed on the way, or if it is too old. */
  open(text: string): Login | null
}

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Returns the seal. If `secret` is null, its key is random, and no other broker has it. */
export function createLoginSeal(secret: string | null, clock: Clock, random: Random): LoginSeal {
  const key = Buffer.from(
    hkdfSync('sha256', secret ?? random.bytes(KEY_BYTES), '', 'ketch: logins by single sign-on', KEY_BYTES),
  )
  return {
    seal(login) {
      const nonce = random.bytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, key, nonce)
      const text = Buffer.concat([cipher.update(JSON.stringify(login), 'utf8'), cipher.final()])
      return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url')
    },
    open(text) {
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      let plain: string
      try {
        plain = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString()
      } catch {
        return null
      }
      const login = JSON.parse(plain) as Login
      return clock.now() < login.expiresAtMs ? login : null
    },
  }
}

// The public keys of an identity provider (JWKS, RFC 7517). They are fetched when they are first needed, and again
// after 10 minutes. Without fetched keys, and without one that fits, no signature is valid. id-token.ts decides which
// token is valid.
//
//   key wanted ── none yet, or older than 10 min ──> fetch ── failed ──> refused; asked again after 1 s at the earliest
//       │
//       └── unknown ── last fetch 30 s ago or more ──> fetch once, for all who wait ──> known, or refused

import { createPublicKey } from 'node:crypto'
import {
  type CryptoKey,
  createLocalJWKSet,
  errors,
  type FlattenedJWSInput,
  type JWK,
  type JWTHeaderParameters,
} from 'jose'
import type { Clock } from '../base/clock.ts'
import { type ProviderFetch, ProviderUnavailable } from './provider-fetch.ts'

/** Keys are fetched again at this age, so a key that the provider has revoked is not valid for longer. */
const MAX_AGE_MS = 600_000
/** The shortest time between two fetches because of unknown keys: any client can invent the name of a key. */
const COOL_DOWN_MS = 30_000
/** The shortest time between two fetches while there are no keys. */
const RETRY_MS = 1_000
const MOST_KEYS = 100
const RSA_BITS = { least: 2048, most: 16_384 } as const

/**
 * The allowed algorithms: signatures by RSA and elliptic curves. HMAC is not allowed, because the public key would be
 * its secret. `none` is not allowed either (RFC 8725).
 */
export const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const

export interface KeySet {
  /**
   * Resolves with the key that the header of a token names. Throws ProviderUnavailable without keys, and a JOSEError
   * if no key fits. `kid` only selects one of the fetched keys: addresses and keys in the header are not read.
   */
  find(header: JWTHeaderParameters, token: FlattenedJWSInput): Promise<CryptoKey>
}

export function createKeySet(uri: string, fetch: ProviderFetch, clock: Clock): KeySet {
  let keys: { readonly find: ReturnType<typeof createLocalJWKSet>; readonly atMs: number } | null = null
  let askedAtMs = Number.NEGATIVE_INFINITY
  let failure: ProviderUnavailable | null = null
  let loading: Promise<void> | null = null

  const load = async () => {
    askedAtMs = clock.monotonic()
    try {
      keys = { find: createLocalJWKSet({ keys: await fetchKeys(uri, fetch) }), atMs: clock.monotonic() }
      failure = null
    } catch (error) {
      if (error instanceof ProviderUnavailable) failure = error
      throw error
    } finally {
      loading = null
    }
  }
  const since = (atMs: number) => clock.monotonic() - atMs

  return {
    async find(header, token) {
      if (keys === null || since(keys.atMs) >= MAX_AGE_MS) {
        if (loading === null && failure !== null && since(askedAtMs) < RETRY_MS) throw failure
        loading ??= load()
        await loading
      }
      try {
        return await keys!.find(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        if (loading === null && since(askedAtMs) < COOL_DOWN_MS) throw error
        loading ??= load()
        await loading
        return await keys!.find(header, token)
      }
    },
  }
}

async function fetchKeys(uri: string, fetch: ProviderFetch): Promise<JWK[]> {
  const unusable = (why: string) => new ProviderUnavailable(`the keys at ${uri} cannot be used: ${why}`)
  const response = await fetch(uri, { headers: { accept: 'application/json, application/jwk-set+json' } })
  if (response.status !== 200) throw unusable(`the status is ${response.status}`)
  const contentType = response.headers.get('content-type') ?? ''
  if (!/^application\/(jwk-set\+)?json\s*(;|$)/i.test(contentType)) throw unusable('they are not served as JSON')
  const text = await response.text()
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw new ProviderUnavailable(`the keys at ${uri} cannot be used: they are not JSON`, { cause })
  }
  const listed = (parsed as { keys?: unknown } | null)?.keys
  if (!Array.isArray(listed)) throw unusable('there is no list of keys')
  if (listed.length > MOST_KEYS) throw unusable(`there are ${listed.length}; at most ${MOST_KEYS} are taken`)
  const usable = listed.filter(isUsable)
  if (usable.length === 0) throw unusable(`none of the ${listed.length} is a strong RSA or EC key for signatures`)
  return usable
}

/**
 * Returns whether the key can verify signatures. The set may contain keys for other purposes. These are skipped, like
 * keys that are too weak or malformed.
 */
function isUsable(key: unknown): key is JWK {
  if (typeof key !== 'object' || key === null) return false
  const { kty, use, alg, d } = key as Partial<JWK>
  if ((kty !== 'RSA' && kty !== 'EC') || d !== undefined) return false
  if ((use !== undefined && use !== 'sig') || (alg !== undefined && !ALGORITHMS.some(known => known === alg)))
    return false
  try {
    // Refuses points that are not on their curve.
    const { modulusLength } = createPublicKey({ key: key as JWK, format: 'jwk' }).asymmetricKeyDetails ?? {}
    return kty === 'EC' || (modulusLength! >= RSA_BITS.least && modulusLength! <= RSA_BITS.most)
  } catch {
    return false
  }
}

// The public keys of an identity provider (JWKS, RFC 7517). They are fetched when they are first needed, and again
// while tokens arrive. Without fetched keys, and without one that fits, no signature is valid. signed-token.ts decides
// which token is valid.
//
//   key wanted ── none yet, or older than 10 min ──> fetch ── failed ──> refused; asked again after 1 s at the earliest
//       │
//       ├── older than 5 min ──> fetch beside the check, which uses the known keys
//       │
//       └── unknown ── last fetch 30 s ago or more ──> fetch once, for all who wait ──> known, or refused
//
// While the provider is away, known keys are valid until they are 10 minutes old, and no longer: a provider revokes a
// key by removing it, and an attacker with that key must not win by cutting the broker off from the provider. Each
// token that arrives after half that age causes a fetch, so a short outage delays no login on a broker in steady use.

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
import { fetchJson, type ProviderFetch, ProviderUnavailable } from './provider-fetch.ts'

/** Keys are not used beyond this age, so a key that the provider has revoked is not valid for longer. */
const MAX_AGE_MS = 600_000
/** From this age on keys are fetched again before they are too old. */
const REFRESH_AGE_MS = 300_000
/** The shortest time after a fetch until the next one: any client can invent the name of a key. */
const COOL_DOWN_MS = 30_000
/** The shortest time after a fetch that failed until the next one. */
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

/** Returns the keys at the address. A function for the address is called before each fetch. */
export function createKeySet(where: string | (() => Promise<string>), fetch: ProviderFetch, clock: Clock): KeySet {
  let keys: { readonly find: ReturnType<typeof createLocalJWKSet>; readonly atMs: number } | null = null
  let askedAtMs = Number.NEGATIVE_INFINITY
  let failure: ProviderUnavailable | null = null
  let loading: Promise<void> | null = null

  const load = async () => {
    askedAtMs = clock.monotonic()
    try {
      const uri = typeof where === 'string' ? where : await where()
      keys = { find: createLocalJWKSet({ keys: await fetchKeys(uri, fetch) }), atMs: clock.monotonic() }
      failure = null
    } catch (error) {
      if (error instanceof ProviderUnavailable) failure = error
      throw error
    } finally {
      loading = null
    }
  }
  const ask = () => {
    loading ??= load()
    return loading
  }
  const since = (atMs: number) => clock.monotonic() - atMs
  const mayAsk = () => loading !== null || since(askedAtMs) >= (failure === null ? COOL_DOWN_MS : RETRY_MS)

  return {
    async find(header, token) {
      const ageMs = keys === null ? Number.POSITIVE_INFINITY : since(keys.atMs)
      if (ageMs >= MAX_AGE_MS) {
        if (failure !== null && !mayAsk()) throw failure
        await ask()
      } else if (ageMs >= REFRESH_AGE_MS && mayAsk()) {
        // A failure is thrown once the known keys are too old.
        ask().catch(() => {})
      }
      try {
        return await keys!.find(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        // After a failed fetch the key may be a new one, so the token cannot be called invalid.
        if (!mayAsk()) throw failure ?? error
        await ask()
        return await keys!.find(header, token)
      }
    },
  }
}

async function fetchKeys(uri: string, fetch: ProviderFetch): Promise<JWK[]> {
  const unusable = (why: string) => new ProviderUnavailable(`the keys at ${uri} cannot be used: ${why}`)
  const listed = ((await fetchJson(fetch, uri, 'the keys')) as { keys?: unknown } | null)?.keys
  if (!Array.isArray(listed)) throw unusable('there is no list of keys')
  if (listed.length > MOST_KEYS) throw unusable(`there are ${listed.length}; at most ${MOST_KEYS} are taken`)
  const usable = listed.filter(isUsable)
  if (usable.length === 0) throw unusable(`none of the ${listed.length} is a strong RSA or EC key for signatures`)
  // Members that restrict the use of a key can contradict each other. Then its import would fail with each token.
  return usable.map(({ kty, kid, alg, n, e, crv, x, y }) => ({ kty, kid, alg, n, e, crv, x, y }) as JWK)
}

/**
 * Returns whether the key can verify signatures. The set may contain keys for other purposes. These are skipped, like
 * keys that are too weak or malformed.
 */
function isUsable(key: unknown): key is JWK {
  if (typeof key !== 'object' || key === null) return false
  const { kty, use, key_ops, alg, d } = key as Partial<JWK>
  if ((kty !== 'RSA' && kty !== 'EC') || d !== undefined) return false
  if ((use !== undefined && use !== 'sig') || (alg !== undefined && !ALGORITHMS.some(known => known === alg)))
    return false
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes('verify'))) return false
  try {
    // Refuses points that are not on their curve.
    const { modulusLength } = createPublicKey({ key: key as JWK, format: 'jwk' }).asymmetricKeyDetails ?? {}
    return kty === 'EC' || (modulusLength! >= RSA_BITS.least && modulusLength! <= RSA_BITS.most)
  } catch {
    return false
  }
}

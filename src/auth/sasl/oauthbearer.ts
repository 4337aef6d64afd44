// The SASL mechanism OAUTHBEARER (RFC 7628, KIP-255): the client sends an access token of an identity provider. Refused
// tokens are answered as Apache Kafka answers them. oauthbearer-message.ts reads the message, access-token.ts decides
// which client the token stands for, and key-set.ts holds the provider's keys. No request goes to the provider before
// the first token.
//
//   first message ── malformed, or another authzid ──> failure
//         │
//         ├── good token ──> success
//         │
//         └── bad token ──> continue {"status":"invalid_token"} ── ^A, or anything else ──> failure

import type { Clock } from '../../base/clock.ts'
import type { Settings } from '../../settings/settings.ts'
import { isLabel } from '../claims.ts'
import { createKeySet } from '../key-set.ts'
import {
  createProviderFetch,
  fetchJson,
  type ProviderFetch,
  ProviderUnavailable,
  trustObjection,
} from '../provider-fetch.ts'
import { verifySignedToken } from '../signed-token.ts'
import { readAccessToken } from './access-token.ts'
import type { SaslExchange, SaslMechanism, Step } from './mechanism.ts'
import { readFirstMessage } from './oauthbearer-message.ts'

export interface OauthbearerRooms {
  readonly settings: Settings
  readonly clock: Clock
}

/** The answer to a bad token (RFC 7628, section 3.2.2). It does not say how the token is bad. */
const INVALID_TOKEN = JSON.stringify({ status: 'invalid_token' })
const DONE = new Uint8Array()

/** Opens the mechanism. The settings of issuer and audience must be present. */
export function openOauthbearer({ settings, clock }: OauthbearerRooms): SaslMechanism {
  const issuer = settings.get('broker.sasl.oauth.issuer-uri')!
  const keysUri = settings.get('broker.sasl.oauth.jwks-uri')
  const fetch = createProviderFetch(keysUri ?? issuer, clock)
  const keys = createKeySet(keysUri ?? (() => discoverKeys(issuer, fetch)), fetch, clock)
  const expected = {
    issuer,
    audience: settings.get('broker.sasl.oauth.audience')!,
    skewMs: settings.get('broker.sasl.oauth.clock-skew'),
  }

  const decide = async (token: string) => {
    const verified = await verifySignedToken(token, expected, keys, clock)
    return verified.kind === 'good' ? readAccessToken(verified, settings) : verified
  }

  return { name: 'OAUTHBEARER', begin: () => beginExchange(decide) }
}

function beginExchange(decide: (token: string) => Promise<ReturnType<typeof readAccessToken>>): SaslExchange {
  /** The failure that follows on the challenge; null before the first message. */
  let refusal: (Step & { readonly kind: 'failure' }) | null = null

  return {
    async step(token): Promise<Step> {
      // Kafka takes another first message here. No client sends one, and each would cost the check of a signature.
      if (refusal !== null) return refusal
      const first = readFirstMessage(token)
      if (first.kind === 'bad') return { kind: 'failure', message: first.message, why: first.message, claimed: null }
      const { authzid } = first
      const claimed = isLabel(authzid) ? authzid : null
      const decided = await decide(first.token)
      if (decided.kind === 'bad') {
        refusal = { kind: 'failure', message: INVALID_TOKEN, why: `invalid token: ${decided.why}`, claimed }
        return { kind: 'continue', token: Buffer.from(INVALID_TOKEN) }
      }
      const { client } = decided
      if (authzid !== null && authzid !== client.name) {
        const message = `Authentication failed: Client requested an authorization id (${claimed ?? 'a longer one than any name'}) that is different from the token's principal name (${client.name})`
        return { kind: 'failure', message, why: 'the authorization id is not the principal of the token', claimed }
      }
      return { kind: 'success', token: DONE, client }
    },
  }
}

/**
 * Resolves with the address of the keys in the provider's discovery document (OpenID Connect Discovery 1.0, section 4).
 * Nothing is kept: the document is fetched as rarely as the keys are, and keys that have moved are found at once.
 */
async function discoverKeys(issuer: string, fetch: ProviderFetch): Promise<string> {
  const uri = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const document = (await fetchJson(fetch, uri, 'the discovery document')) as Readonly<Record<string, unknown>> | null
  const unusable = (why: string) => new ProviderUnavailable(`the discovery document at ${uri} cannot be used: ${why}`)
  if (document?.issuer !== issuer) throw unusable(`its issuer is not ${issuer}`)
  if (typeof document.jwks_uri !== 'string') throw unusable('it names no jwks_uri')
  const objection = trustObjection(issuer, document.jwks_uri)
  if (objection !== null) throw unusable(`its jwks_uri ${objection}`)
  return document.jwks_uri
}

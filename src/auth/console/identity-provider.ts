// The identity provider as openid-client knows it: its discovery document (OpenID Connect Discovery 1.0), fetched
// when it is first needed and again after an hour. A failure is not remembered: the next login fetches again.

import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  clockTolerance,
  customFetch,
  discovery,
  None,
  type ServerMetadata,
} from 'openid-client'
import type { Clock } from '../../base/clock.ts'
import type { Settings } from '../../settings/settings.ts'
import { createKeySet, type KeySet } from '../key-set.ts'
import { createProviderFetch, ProviderUnavailable, trustObjection } from '../provider-fetch.ts'

export interface IdentityProvider {
  readonly client: Configuration
  readonly keys: KeySet
}

/** The age in ms at which the document is fetched again. */
const MAX_AGE_MS = 3_600_000

/**
 * Returns the function that finds the provider of the settings `svc.admin.oauth.*`. The required settings must be
 * present.
 */
export function createDiscovery(settings: Settings, clock: Clock): () => Promise<IdentityProvider> {
  const issuer = settings.get('admin.oauth.issuer-uri')!
  const fetch = createProviderFetch(issuer, clock)
  let found: { readonly provider: IdentityProvider; readonly atMs: number } | null = null
  let looking: Promise<IdentityProvider> | null = null

  const discover = async (): Promise<IdentityProvider> => {
    const client = await askForDocument()
    const document = client.serverMetadata()
    checkDocument(document, issuer)
    const keysUri = settings.get('admin.oauth.jwks-uri') ?? document.jwks_uri
    if (keysUri === undefined) throw new ProviderUnavailable(`${issuer} names no jwks_uri`)
    return { client, keys: createKeySet(keysUri, fetch, clock) }
  }

  const askForDocument = async (): Promise<Configuration> => {
    const secret = settings.get('admin.oauth.client-secret')
    try {
      return await discovery(
        new URL(issuer),
        settings.get('admin.oauth.client-id')!,
        // Times are checked with our clock and our skew (id-token.ts), so the library's own check lets everything pass.
        { [clockTolerance]: Number.MAX_SAFE_INTEGER },
        secret === null
          ? None()
          : (server, ...rest) => (takesBasic(server) ? ClientSecretBasic : ClientSecretPost)(secret)(server, ...rest),
        {
          [customFetch]: (url, { method, headers, body, signal }) =>
            fetch(url, { method, headers, body: body ?? null, signal: signal ?? null }),
          execute: issuer.startsWith('http:') ? [allowInsecureRequests] : [],
        },
      )
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error
      throw new ProviderUnavailable(
        `${issuer} has no discovery document that can be used: ${(error as Error).message}`,
        {
          cause: error,
        },
      )
    }
  }

  return async () => {
    if (found !== null && clock.monotonic() - found.atMs < MAX_AGE_MS) return found.provider
    looking ??= discover().finally(() => {
      looking = null
    })
    const provider = await looking
    if (found?.provider !== provider) found = { provider, atMs: clock.monotonic() }
    return provider
  }
}

/**
 * Throws ProviderUnavailable if the document is from another issuer, or if the broker must not use one of its
 * endpoints. The library itself treats issuers as equal if they differ only by a slash, and accepts endpoints on any
 * host.
 */
function checkDocument(document: Readonly<ServerMetadata>, issuer: string): void {
  if (document.issuer !== issuer)
    throw new ProviderUnavailable(
      `the provider calls itself ${document.issuer}, svc.admin.oauth.issuer-uri is ${issuer}`,
    )
  for (const endpoint of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const) {
    const uri = document[endpoint]
    if (uri === undefined && endpoint === 'jwks_uri') continue
    if (typeof uri !== 'string') throw new ProviderUnavailable(`${issuer} names no ${endpoint}`)
    const objection = trustObjection(issuer, uri)
    if (objection !== null) throw new ProviderUnavailable(`the ${endpoint} of ${issuer} ${objection}`)
  }
}

/**
 * Returns whether the client secret is sent by HTTP Basic. That is the default if a provider names no method (OpenID
 * Connect Discovery 1.0, section 3).
 */
function takesBasic({ token_endpoint_auth_methods_supported: methods }: ServerMetadata): boolean {
  return methods === undefined || methods.includes('client_secret_basic') || !methods.includes('client_secret_post')
}

// A certified OpenID provider (oidc-provider) on loopback. It has sign-in pages of its own, and accepts every
// password.

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Values } from '../../src/settings/settings.ts'
import type { CleanUp } from '../../testing/broker.ts'

export interface RealProvider {
  readonly issuer: string
  readonly client: { readonly id: string; readonly secret: string }
  /** Stops the provider; it no longer answers. */
  stop(): Promise<void>
}

/** Starts a provider. `groups` has the groups of each user, by user name. */
export async function startRealProvider(
  cleanUp: CleanUp,
  redirectUri: string,
  groups: Readonly<Record<string, readonly string[]>>,
): Promise<RealProvider> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = { id: 'ketch', secret: randomBytes(24).toString('base64') }
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const provider = new Provider(issuer, {
    clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] }],
    cookies: { keys: [randomBytes(24).toString('base64')] },
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'first', use: 'sig', alg: 'RS256' }] },
    pkce: { required: () => true },
    scopes: ['openid', 'profile', 'groups'],
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    // The id_token contains the claims of scopes, as with Keycloak; by default only the userinfo endpoint returns
    // them.
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, preferred_username: id, groups: groups[id] ?? [] }),
    }),
  })
  const answer = provider.callback()
  server.on('request', (request, response) => void answer(request, response))
  cleanUp.after(() => stopServer(server))
  return { issuer, client, stop: () => stopServer(server) }
}

async function stopServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}

/** Returns the settings of a broker whose users sign in at this provider; two groups give the two roles. */
export function ssoSettings({ issuer, client }: RealProvider): Partial<Values> {
  return {
    'admin.oauth.enabled': true,
    'admin.oauth.issuer-uri': issuer,
    'admin.oauth.client-id': client.id,
    'admin.oauth.client-secret': client.secret,
    'admin.oauth.audience': client.id,
    'admin.oauth.scopes': 'openid profile groups',
    'admin.oauth.roles.admin-group': 'ketch-admins',
    'admin.oauth.roles.viewer-group': 'ketch-viewers',
  }
}

// A certified OpenID provider (oidc-provider) on loopback, with its own pages for signing in, where every password is
// right.

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { CleanUp } from '../../testing/broker.ts'

export interface RealProvider {
  readonly issuer: string
  readonly client: { readonly id: string; readonly secret: string }
  /** The provider answers no longer. */
  stop(): Promise<void>
}

/** `groups` are those of each user, by name. */
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
    // Claims of scopes go into the id_token, as with Keycloak, and not only to the userinfo endpoint.
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

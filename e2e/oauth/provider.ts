// A certified OAuth provider (oidc-provider) on loopback for Kafka clients. They get access tokens as JWT (RFC 9068) by
// their client credentials (RFC 6749, section 4.4), for the broker as the one resource (RFC 8707). A test changes the
// groups of a client, rotates the keys, and takes the provider down. The provider of the console is in e2e/sso/.

import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { CleanUp } from '../../testing/broker.ts'

export interface OauthClient {
  readonly secret: string
  /** The claim `groups` of the tokens that are issued from now on. */
  groups: readonly string[]
  /** The claim `tenant`; null for none. */
  tenant: string | null
}

export interface OauthProvider {
  readonly issuer: string
  /** Where clients get their tokens. */
  readonly tokenUri: string
  /** The audience of the tokens. */
  readonly audience: string
  /** By client id, which is the subject of the client's tokens. */
  readonly clients: ReadonlyMap<string, OauthClient>
  /** The paths of all requests, in the order of their arrival. */
  readonly requests: readonly string[]
  /** Gets a token as a client does. */
  token(id: string): Promise<string>
  /** Signs with a new key from now on. The key set has only that one, or the earlier ones behind it. */
  rotateKeys(options?: { readonly keepsOld: boolean }): void
  /** Takes the provider down: it accepts no connection until `start`, which brings it back at the same address. */
  stop(): Promise<void>
  start(): Promise<void>
}

export interface OauthProviderOptions {
  readonly clients: Readonly<Record<string, Partial<Pick<OauthClient, 'groups' | 'tenant'>>>>
  /** The lifetime of the tokens in whole seconds. */
  readonly tokenSeconds?: number
}

/** A resource is an absolute URI (RFC 8707, section 2). */
const AUDIENCE = 'urn:ketch:kafka'

export async function startOauthProvider(
  cleanUp: CleanUp,
  { clients: wanted, tokenSeconds = 300 }: OauthProviderOptions,
): Promise<OauthProvider> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  const clients = new Map(
    Object.entries(wanted).map(([id, { groups = [], tenant = null }]): [string, OauthClient] => [
      id,
      { secret: randomBytes(24).toString('hex'), groups, tenant },
    ]),
  )
  let issued = 0
  let keys: readonly object[] = []

  const open = ({ keepsOld }: { readonly keepsOld: boolean }) => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const key = { ...privateKey.export({ format: 'jwk' }), kid: `key-${++issued}`, use: 'sig', alg: 'RS256' }
    keys = [key, ...(keepsOld ? keys : [])]
    return new Provider(issuer, {
      clients: [...clients].map(([id, { secret }]) => ({
        client_id: id,
        client_secret: secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      })),
      cookies: { keys: [randomBytes(24).toString('base64')] },
      jwks: { keys },
      scopes: ['kafka'],
      ttl: { ClientCredentials: tokenSeconds },
      extraTokenClaims: (_context: unknown, { clientId }: { readonly clientId: string }) => {
        const { groups, tenant } = clients.get(clientId)!
        return { groups, ...(tenant !== null && { tenant }) }
      },
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => AUDIENCE,
          getResourceServerInfo: () => ({
            scope: 'kafka',
            audience: AUDIENCE,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256' } },
          }),
        },
      },
    }).callback()
  }

  let answer = open({ keepsOld: false })
  const requests: string[] = []
  server.on('request', (request, response) => {
    requests.push(request.url!)
    void answer(request, response)
  })
  const stop = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  cleanUp.after(stop)

  return {
    issuer,
    tokenUri: `${issuer}/token`,
    audience: AUDIENCE,
    clients,
    requests,
    async token(id) {
      const { secret } = clients.get(id)!
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'kafka' }),
      })
      const body = (await response.json()) as { readonly access_token?: string }
      if (body.access_token === undefined) throw new Error(`no token for ${id}: ${JSON.stringify(body)}`)
      return body.access_token
    },
    rotateKeys(options = { keepsOld: false }) {
      answer = open(options)
    },
    stop,
    async start() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
}

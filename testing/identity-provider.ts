// An OpenID provider on loopback for the tests of single sign-on. A test can make it misbehave. It has no pages:
// `signIn` does what a user would do there. Real providers are in e2e/.

import { constants, createHash, KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  base64url,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose'
import type { CleanUp } from './broker.ts'

export type Claims = Readonly<Record<string, unknown>>
type Handler = (response: ServerResponse, request: IncomingMessage) => void

export interface ProviderKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export interface TestProvider {
  readonly issuer: string
  /** The requests as `GET /keys` …, in the order of their arrival. */
  readonly requests: string[]
  /** Changes to the discovery document: a value replaces a member, undefined removes it. */
  document: Claims
  /** The keys in the key set. */
  keys: readonly unknown[]
  /** By path, handlers that replace the provider's own. */
  readonly instead: Map<string, Handler>
  readonly key: ProviderKey
  /** Returns the claims of an id_token for the client `ketch` that is valid at this time (milliseconds since 1970). */
  claims(nonce: string, nowMs: number, changes?: Claims): Claims
  sign(claims: Claims, header?: Partial<JWTHeaderParameters>, key?: ProviderKey): Promise<string>
  /** Signs in a user whom the broker sent to this URL. Returns the query of the browser's return to the broker. */
  signIn(url: string, idToken: (nonce: string) => Claims | Promise<string>): URLSearchParams
}

export const CLIENT = { id: 'ketch', secret: 'a secret of the client' } as const

export async function makeKey(alg = 'ES256', kid = `${alg}-1`): Promise<ProviderKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, use: 'sig', alg } }
}

/** Serves a key set at every path of the address that it returns, and notes the paths that are asked for. */
export async function serveKeys(cleanUp: CleanUp, keys: readonly unknown[]) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp.after(() => new Promise<void>(resolve => server.close(() => resolve())))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

export async function startProvider(cleanUp: CleanUp, key?: ProviderKey): Promise<TestProvider> {
  const own = key ?? (await makeKey())
  const codes = new Map<string, { query: URLSearchParams; idToken: () => Promise<string> }>()
  const handlers = new Map<string, Handler>([
    ['/.well-known/openid-configuration', response => json(response, 200, documentOf(provider))],
    ['/keys', response => json(response, 200, { keys: provider.keys })],
    ['/token', (response, request) => void redeem(response, request)],
  ])
  const server = createServer((request, response) => {
    const path = request.url!.split('?', 1)[0]!
    provider.requests.push(`${request.method} ${path}`)
    const handler = provider.instead.get(path) ?? handlers.get(path)
    if (handler === undefined) json(response, 404, {})
    else handler(response, request)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp.after(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })

  async function redeem(response: ServerResponse, request: IncomingMessage): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    const form = new URLSearchParams(text)
    const credentials = Buffer.from(`${CLIENT.id}:${encodeURIComponent(CLIENT.secret).replaceAll('%20', '+')}`)
    if (request.headers.authorization !== `Basic ${credentials.toString('base64')}`)
      return json(response, 401, { error: 'invalid_client' })
    const code = form.get('code') ?? ''
    const granted = codes.get(code)
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isFine =
      granted !== undefined &&
      form.get('grant_type') === 'authorization_code' &&
      granted.query.get('redirect_uri') === form.get('redirect_uri') &&
      granted.query.get('code_challenge_method') === 'S256' &&
      granted.query.get('code_challenge') === challenge
    if (!isFine) return json(response, 400, { error: 'invalid_grant' })
    codes.delete(code)
    const tokens = { access_token: 'SECRET-access', refresh_token: 'SECRET-refresh', token_type: 'Bearer' }
    json(response, 200, { ...tokens, id_token: await granted.idToken() })
  }

  const provider: TestProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    document: {},
    keys: [own.jwk],
    instead: new Map(),
    key: own,
    claims: (nonce, nowMs, changes = {}) => {
      const now = Math.floor(nowMs / 1000)
      const subject = { sub: 'subject-1', preferred_username: 'ada', groups: ['staff', 'ketch-admins'] }
      return { iss: provider.issuer, aud: CLIENT.id, iat: now, exp: now + 300, nonce, ...subject, ...changes }
    },
    sign: (claims, header = {}, { kid, alg, privateKey } = own) =>
      new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(privateKey),
    signIn(url, idToken) {
      const query = new URL(url).searchParams
      const code = `code-${codes.size}-${query.get('state')}`
      codes.set(code, {
        query,
        async idToken() {
          const made = await idToken(query.get('nonce') ?? '')
          return typeof made === 'string' ? made : await provider.sign(made)
        },
      })
      return new URLSearchParams({ code, state: query.get('state') ?? '', iss: provider.issuer })
    },
  }
  return provider
}

/**
 * Returns a token with a valid signature for its header, as far as the key allows. jose does not sign tokens that it
 * would refuse itself.
 */
export function signAsTold(
  { kid, privateKey }: ProviderKey,
  header: Claims & { readonly alg: string },
  claims: Claims,
): string {
  const input = `${encoded({ kid, ...header })}.${encoded(claims)}`
  const signature = sign(`sha${header.alg.slice(2)}`, Buffer.from(input), {
    key: KeyObject.from(privateKey),
    padding: header.alg.startsWith('PS') ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    dsaEncoding: 'ieee-p1363',
  })
  return `${input}.${base64url.encode(signature)}`
}

/** Returns a part of a token. */
export function encoded(value: unknown): string {
  return base64url.encode(JSON.stringify(value))
}

function documentOf({ issuer, document }: TestProvider): Claims {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    authorization_response_iss_parameter_supported: true,
    ...document,
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

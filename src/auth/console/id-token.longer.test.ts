import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { base64url, type CryptoKey, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import {
  type Claims,
  encoded,
  makeKey,
  type ProviderKey,
  serveKeys,
  signAsTold,
  startProvider,
  type TestProvider,
} from '../../../testing/identity-provider.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createKeySet } from '../key-set.ts'
import { createProviderFetch, ProviderUnavailable } from '../provider-fetch.ts'
import { type ExpectedIdToken, verifyIdToken } from './id-token.ts'

const NONCE = 'the nonce of this login'

describe('id_tokens', () => {
  let key: ProviderKey
  let rsa: ProviderKey
  before(async () => {
    ;[key, rsa] = await Promise.all([makeKey('ES256'), makeKey('RS256')])
  })

  async function setUp(t: { after(fn: () => Promise<void>): void }) {
    const provider = await startProvider(t, key)
    provider.keys = [key.jwk, rsa.jwk]
    const clock = new SimulatedClock()
    const keys = createKeySet(`${provider.issuer}/keys`, createProviderFetch(provider.issuer, clock), clock)
    const expected: ExpectedIdToken = {
      issuer: provider.issuer,
      audience: 'ketch',
      clientId: 'ketch',
      nonce: NONCE,
      skewMs: 30_000,
    }
    const claims = (changes: Claims = {}) => provider.claims(NONCE, clock.now(), changes)
    const verify = (token: string, changes: Partial<ExpectedIdToken> = {}) =>
      verifyIdToken(token, { ...expected, ...changes }, keys, clock)
    const outcome = async (changes: Claims, header = {}) => {
      const verified = await verify(await provider.sign(claims(changes), header))
      return verified.kind === 'good' ? 'good' : verified.why
    }
    return { provider, clock, keys, claims, verify, outcome }
  }

  const now = () => Math.floor(new SimulatedClock().now() / 1000)

  test('a token without a defect is good, with every allowed algorithm', async t => {
    const { provider, claims, verify } = await setUp(t)
    const other = await makeKey('ES384')
    provider.keys = [...provider.keys, other.jwk]
    assert.equal((await verify(await provider.sign(claims(), {}, other))).kind, 'good')
    const verified = await verify(await provider.sign(claims({ groups: ['a'] })))
    assert.equal(verified.kind, 'good')
    assert.deepEqual(verified.kind === 'good' && [verified.claims.sub, verified.claims.groups], ['subject-1', ['a']])
    assert.equal((await verify(await provider.sign(claims(), {}, rsa))).kind, 'good')
  })

  test('a token with one thing missing or wrong is bad, one case for each', async t => {
    const { outcome, provider } = await setUp(t)
    const cases: readonly [string, Claims, RegExp][] = [
      ['no issuer', { iss: undefined }, /iss/],
      ['another issuer', { iss: 'https://other.example' }, /iss/],
      ['the issuer with a slash', { iss: `${provider.issuer}/` }, /iss/],
      ['the issuer in a list', { iss: [provider.issuer] }, /iss/],
      ['no audience', { aud: undefined }, /aud/],
      ['another audience', { aud: 'other' }, /aud/],
      ['an empty list of audiences', { aud: [] }, /aud/],
      ['several audiences and no authorised party', { aud: ['ketch', 'other'] }, /azp/],
      ['several audiences and another one authorised', { aud: ['ketch', 'other'], azp: 'other' }, /azp/],
      ['another one authorised', { azp: 'other' }, /azp/],
      ['no end', { exp: undefined }, /exp/],
      ['over for longer than the skew', { exp: now() - 31 }, /exp/],
      ['over for exactly the skew', { exp: now() - 30 }, /exp/],
      ['an end in words', { exp: 'tomorrow' }, /exp/],
      ['not yet valid', { nbf: now() + 31 }, /nbf/],
      ['valid from, in words', { nbf: 'today' }, /nbf/],
      ['no time of issue', { iat: undefined }, /iat/],
      ['issued in the future', { iat: now() + 31 }, /iat/],
      ['issued after its end', { iat: now() + 20, exp: now() + 10 }, /iat/],
      ['issued in words', { iat: 'yesterday' }, /iat/],
      ['no subject', { sub: undefined }, /sub/],
      ['an empty subject', { sub: '' }, /sub/],
      ['a subject that is no text', { sub: 7 }, /sub/],
      ['no nonce', { nonce: undefined }, /nonce/],
      ['another nonce', { nonce: 'of another login' }, /nonce/],
      ['a nonce in a list', { nonce: [NONCE] }, /nonce/],
      ['a type of Keycloak for access tokens', { typ: 'Bearer' }, /another type/],
    ]
    for (const [what, changes, why] of cases) assert.match(await outcome(changes), why, what)
  })

  test('a clock difference of 30 s is accepted, in both directions', async t => {
    const { outcome } = await setUp(t)
    assert.equal(await outcome({ iat: now() - 300, exp: now() - 29 }), 'good')
    assert.equal(await outcome({ nbf: now() + 30 }), 'good')
    assert.equal(await outcome({ iat: now() + 30 }), 'good')
  })

  test('times are compared with the given clock', async t => {
    const { provider, clock, claims, verify } = await setUp(t)
    const token = await provider.sign(claims())
    await clock.advance(329_000)
    assert.equal((await verify(token)).kind, 'good')
    await clock.advance(1_000)
    assert.equal((await verify(token)).kind, 'bad')
  })

  test('if an audience is configured, a token must name it beside the client', async t => {
    const { provider, claims, verify } = await setUp(t)
    const sign = (aud: unknown, azp?: string) => provider.sign(claims({ aud, azp }))
    const expected = { audience: 'console' }
    assert.equal((await verify(await sign(['console', 'ketch'], 'ketch'), expected)).kind, 'good')
    assert.equal((await verify(await sign('ketch'), expected)).kind, 'bad')
    assert.equal((await verify(await sign('console'), expected)).kind, 'bad')
  })

  test('HMAC with the public key as its secret, and no signature at all, are bad', async t => {
    const { provider, claims, verify } = await setUp(t)
    const pem = await exportSPKI(
      (await importJWK({ ...rsa.jwk, ext: true }, 'RS256', { extractable: true })) as CryptoKey,
    )
    for (const alg of ['HS256', 'HS384', 'HS512'])
      for (const secret of [Buffer.from(pem), Buffer.from(JSON.stringify(rsa.jwk)), base64url.decode(rsa.jwk.n!)]) {
        const forged = await new SignJWT(claims()).setProtectedHeader({ alg, kid: rsa.kid }).sign(secret)
        assert.equal((await verify(forged)).kind, 'bad', alg)
      }
    assert.equal((await verify(new UnsecuredJWT(claims()).encode())).kind, 'bad')
    const [, payload] = (await provider.sign(claims())).split('.')
    for (const alg of ['none', 'None', 'NONE', 'EdDSA', '__proto__', 7, null])
      assert.equal((await verify(`${encoded({ alg, kid: key.kid })}.${payload}.`)).kind, 'bad', String(alg))
    assert.deepEqual(provider.requests, [], 'no keys are fetched for them')
  })

  test('the algorithm of the token must be that of the key, even if the signature is valid', async t => {
    const { provider, claims, verify } = await setUp(t)
    assert.equal((await verify(signAsTold(rsa, { alg: 'RS256' }, claims()))).kind, 'good')
    assert.equal((await verify(signAsTold(key, { alg: 'ES256' }, claims()))).kind, 'good')
    for (const alg of ['RS384', 'RS512', 'PS256', 'PS384', 'ES256'])
      assert.equal((await verify(signAsTold(rsa, { alg }, claims()))).kind, 'bad', alg)
    for (const alg of ['ES384', 'ES512', 'RS256'])
      assert.equal((await verify(signAsTold(key, { alg }, claims()))).kind, 'bad', alg)
    assert.equal(provider.requests.filter(request => request === 'GET /keys').length, 1)
  })

  test('a signature by another key under the same name is bad, as is a signature of other claims', async t => {
    const { provider, claims, verify } = await setUp(t)
    const impostor = await makeKey('ES256', key.kid)
    assert.equal((await verify(await provider.sign(claims(), {}, impostor))).kind, 'bad')
    const [header, , signature] = (await provider.sign(claims())).split('.')
    assert.equal((await verify(`${header}.${encoded(claims({ groups: ['more'] }))}.${signature}`)).kind, 'bad')
  })

  test('addresses and keys in the header are not followed: no request arrives', async t => {
    const { provider, claims, verify } = await setUp(t)
    const impostor = await makeKey('ES256', 'theirs')
    const { url, asked } = await serveKeys(t, [impostor.jwk])
    for (const header of [{ jku: `${url}/keys` }, { x5u: `${url}/cert` }, { jwk: impostor.jwk }, { x5c: ['AAAA'] }])
      assert.equal((await verify(await provider.sign(claims(), header, impostor))).kind, 'bad')
    assert.deepEqual(asked, [])
  })

  test('a token with `crit` in its header is bad, even if the signature is valid', async t => {
    const { claims, verify } = await setUp(t)
    for (const critical of [{ crit: ['exp'], exp: now() + 9 }, { crit: [] }, { crit: 'exp' }])
      assert.equal((await verify(signAsTold(key, { alg: 'ES256', ...critical }, claims()))).kind, 'bad')
  })

  test('10,000 tokens with made-up key names cause at most one more fetch of the keys', async t => {
    const { provider, clock, claims, verify } = await setUp(t)
    assert.equal((await verify(await provider.sign(claims()))).kind, 'good')
    const fetched = () => provider.requests.filter(request => request === 'GET /keys').length
    assert.equal(fetched(), 1)
    await clock.advance(30_000)
    const [, payload, signature] = (await provider.sign(claims())).split('.')
    for (let batch = 0; batch < 100; batch++) {
      const tokens = Array.from(
        { length: 100 },
        (_, at) => `${encoded({ alg: 'ES256', kid: `made-up-${batch}-${at}` })}.${payload}.${signature}`,
      )
      for (const { kind } of await Promise.all(tokens.map(token => verify(token)))) assert.equal(kind, 'bad')
    }
    assert.equal(fetched(), 2)
    const another = async () => {
      const token = `${encoded({ alg: 'ES256', kid: 'made-up' })}.${payload}.${signature}`
      assert.equal((await verify(token)).kind, 'bad')
      return fetched()
    }
    await clock.advance(29_999)
    assert.equal(await another(), 2)
    await clock.advance(1)
    assert.equal(await another(), 3)
  })

  test('a key that the provider begins to use is found, once the last fetch was 30 s ago', async t => {
    const { provider, clock, claims, verify } = await setUp(t)
    assert.equal((await verify(await provider.sign(claims()))).kind, 'good')
    const rotated = await makeKey('ES256', 'rotated')
    provider.keys = [rotated.jwk]
    const sign = () => provider.sign(claims(), {}, rotated)
    assert.equal((await verify(await sign())).kind, 'bad')
    await clock.advance(30_000)
    assert.equal((await verify(await sign())).kind, 'good')
    assert.equal((await verify(await provider.sign(claims()))).kind, 'bad', 'the old key is gone')
  })

  test('tokens of other types are bad', async t => {
    const { outcome } = await setUp(t)
    assert.equal(await outcome({}, { typ: 'JWT' }), 'good')
    assert.equal(await outcome({}, { typ: 'jwt' }), 'good')
    assert.equal(await outcome({ typ: 'ID' }), 'good')
    for (const typ of ['at+jwt', 'application/at+jwt', 'logout+jwt', 'dpop+jwt', 7])
      assert.match(await outcome({}, { typ: typ as string }), /another type/)
    for (const typ of ['Bearer', 'Refresh', 'Logout', 7]) assert.match(await outcome({ typ }), /another type/)
  })

  test('text that is no token is bad', async t => {
    const { provider, claims, verify } = await setUp(t)
    const good = await provider.sign(claims())
    for (const text of ['', '.', '..', '...', 'a.b.c', `${good}.x`, `${good}.x.y`, good.slice(0, -2), `.${good}`])
      assert.equal((await verify(text)).kind, 'bad', text)
  })

  test('without usable keys no token is good, and the keys are fetched again', async t => {
    const { provider, clock, claims, verify } = await setUp(t)
    const good = await provider.sign(claims())
    const publish = (...keys: readonly unknown[]) => {
      provider.keys = keys
    }
    const cases: readonly [string, () => void][] = [
      [
        'an error with keys',
        () => provider.instead.set('/keys', response => jsonText(response, keysText(provider), 500)),
      ],
      ['a page', () => provider.instead.set('/keys', response => html(response, '<h1>Sign in</h1>'))],
      ['keys served as a page', () => provider.instead.set('/keys', response => html(response, keysText(provider)))],
      ['no JSON', () => provider.instead.set('/keys', response => jsonText(response, '{"keys":['))],
      ['no list', () => provider.instead.set('/keys', response => jsonText(response, '{"keys":{}}'))],
      ['null', () => provider.instead.set('/keys', response => jsonText(response, 'null'))],
      [
        'more than 1 MB',
        () => provider.instead.set('/keys', response => jsonText(response, keysText(provider).padEnd(1024 * 1024 + 1))),
      ],
      [
        'a redirect',
        () => provider.instead.set('/keys', response => response.writeHead(302, { location: '/elsewhere' }).end()),
      ],
      ['a broken connection', () => provider.instead.set('/keys', response => response.destroy())],
      ['an empty set', () => publish()],
      ['101 keys', () => publish(...Array.from({ length: 101 }, () => key.jwk))],
      ['keys for something else', () => publish({ ...key.jwk, use: 'enc' })],
      ['a private key', () => publish({ ...key.jwk, d: 'AAAA' })],
      ['a secret', () => publish({ kty: 'oct', k: 'c2VjcmV0', kid: key.kid })],
      ['no keys at all', () => publish(null, 7, 'key', [], {})],
    ]
    for (const [what, misbehave] of cases) {
      misbehave()
      await assert.rejects(verify(good), ProviderUnavailable, what)
      await assert.rejects(verify(good), ProviderUnavailable, `${what}, asked at once`)
      provider.instead.clear()
      provider.keys = [key.jwk]
      await clock.advance(1_000)
    }
    assert.equal(provider.requests.filter(request => request === 'GET /keys').length, cases.length)
    assert.equal(provider.requests.includes('GET /elsewhere'), false)
    assert.equal((await verify(await provider.sign(claims()))).kind, 'good')
    const gone = new SimulatedClock()
    const nowhere = createKeySet('http://127.0.0.1:1/keys', createProviderFetch(provider.issuer, gone), gone)
    await assert.rejects(nowhere.find({ alg: 'ES256' }, {} as never), ProviderUnavailable)
  })

  test('fetched keys expire after ten minutes', async t => {
    const { provider, clock, claims, verify } = await setUp(t)
    assert.equal((await verify(await provider.sign(claims()))).kind, 'good')
    provider.instead.set('/keys', response => response.writeHead(500).end())
    await clock.advance(599_000)
    assert.equal((await verify(await provider.sign(claims()))).kind, 'good')
    await clock.advance(1_000)
    await assert.rejects(verify(await provider.sign(claims())), ProviderUnavailable)
  })

  test('a provider that does not answer is given up after 5 s', async t => {
    const { provider, clock, claims, verify } = await setUp(t)
    const asked = new Promise<void>(resolve => provider.instead.set('/keys', () => resolve()))
    const refused = assert.rejects(verify(await provider.sign(claims())), /within 5 s/)
    await asked
    await clock.advance(5_000)
    await refused
  })

  test('weak RSA keys, and points that are not on their curve, are skipped', async t => {
    const { provider, claims, verify } = await setUp(t)
    const short = { ...rsa.jwk, n: Buffer.from(rsa.jwk.n!, 'base64url').subarray(0, 255).toString('base64url') }
    const y = Buffer.from(key.jwk.y!, 'base64url').map((byte, at) => (at === 7 ? byte ^ 1 : byte))
    const off = { ...key.jwk, y: Buffer.from(y).toString('base64url') }
    provider.keys = [short, off]
    await assert.rejects(verify(await provider.sign(claims())), /none of the 2/)
    await assert.rejects(verify(await provider.sign(claims(), {}, rsa)), ProviderUnavailable)
  })

  test('only https is fetched, and http on this machine if the issuer is there too', async () => {
    const clock = new SimulatedClock()
    for (const url of ['http://id.example/keys', 'file:///etc/passwd', 'http://169.254.169.254/', 'ftp://id.example/'])
      await assert.rejects(createProviderFetch('http://127.0.0.1:1', clock)(url), ProviderUnavailable, url)
    await assert.rejects(
      createProviderFetch('https://id.example', clock)('http://127.0.0.1:6379/'),
      /only a provider on this machine/,
    )
  })
})

type Response = Parameters<Parameters<TestProvider['instead']['set']>[1]>[0]

function html(response: Response, text: string): void {
  response.writeHead(200, { 'content-type': 'text/html' }).end(text)
}

function jsonText(response: Response, text: string, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}

function keysText({ key }: TestProvider): string {
  return JSON.stringify({ keys: [key.jwk] })
}

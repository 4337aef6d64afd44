import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { registerHooks } from 'node:module'
import type { AddressInfo } from 'node:net'
import { before, describe, test } from 'node:test'
import { base64url, type CryptoKey, exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import type { CleanUp } from '../../../testing/broker.ts'
import { makeCertificate, noOpenssl } from '../../../testing/certificate.ts'
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
import { testSettings } from '../../settings/settings.ts'
import { ProviderUnavailable } from '../provider-fetch.ts'
import type { Channel, SaslMechanism, Step } from './mechanism.ts'
import { openOauthbearer } from './oauthbearer.ts'

const CHANNEL: Channel = { address: '192.0.2.1', exportKey: () => null }
const INVALID_TOKEN = '{"status":"invalid_token"}'
const CONTROL_A = Buffer.from([1])

describe('OAUTHBEARER', () => {
  let key: ProviderKey
  let rsa: ProviderKey
  before(async () => {
    ;[key, rsa] = await Promise.all([makeKey('ES256'), makeKey('RS256')])
  })

  async function setUp(t: CleanUp, overrides: Parameters<typeof testSettings>[0] = {}) {
    const provider = await startProvider(t, key)
    provider.keys = [key.jwk, rsa.jwk]
    const clock = new SimulatedClock()
    const settings = testSettings({
      'broker.sasl.oauth.issuer-uri': provider.issuer,
      'broker.sasl.oauth.audience': 'kafka',
      'broker.sasl.oauth.groups-claim': 'groups',
      'broker.sasl.oauth.tenant-claim': 'tenant',
      ...overrides,
    })
    const mechanism = openOauthbearer({ settings, clock })
    const claims = (changes: Claims = {}): Claims => {
      const now = seconds(clock)
      return { iss: provider.issuer, aud: 'kafka', sub: 'ada', iat: now, exp: now + 300, ...changes }
    }
    const sign = (changes: Claims = {}, header = {}, by = key) => provider.sign(claims(changes), header, by)
    return { provider, clock, settings, mechanism, claims, sign, outcome: (token: string) => outcome(mechanism, token) }
  }

  test('a good token authenticates its principal with groups and tenant, and the answer is empty', async t => {
    const { provider, clock, mechanism, sign } = await setUp(t)
    const token = await sign({ groups: ['staff'], tenant: 'eu' })
    assert.equal(mechanism.name, 'OAUTHBEARER')
    assert.deepEqual(provider.requests, [], 'nothing is asked before the first token')
    const step = await mechanism.begin(CHANNEL).step(first(token, { authzid: 'ada', rest: '\u0001traceid=7' }))
    assert.deepEqual(step, {
      kind: 'success',
      token: new Uint8Array(),
      client: { name: 'ada', groups: ['staff'], tenant: 'eu', validUntilMs: (seconds(clock) + 300) * 1000 },
    })
    assert.deepEqual(provider.requests, ['GET /.well-known/openid-configuration', 'GET /keys'])
    for (const [alg, by] of [
      ['RS256', rsa],
      ['ES256', key],
    ] as const)
      assert.equal((await mechanism.begin(CHANNEL).step(first(await sign({}, { alg }, by)))).kind, 'success', alg)
    assert.equal(provider.requests.length, 2, 'the keys are kept')
  })

  test('each algorithm of the families RSA and EC is accepted', async t => {
    const { provider, sign, outcome } = await setUp(t)
    const keys = await Promise.all(
      ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'].map(alg => makeKey(alg)),
    )
    provider.keys = keys.map(each => each.jwk)
    for (const each of keys) assert.equal(await outcome(await sign({}, {}, each)), 'success', each.alg)
  })

  test('a bad token is answered with the JSON of RFC 7628, and each answer to that ends in the failure', async t => {
    const { mechanism, sign } = await setUp(t)
    const expired = await sign({ exp: 1 })
    for (const answer of [CONTROL_A, first(await sign()), first(expired), Buffer.alloc(0), Buffer.from('x')]) {
      const exchange = mechanism.begin(CHANNEL)
      const challenge = await exchange.step(first(expired))
      const failed = {
        kind: 'failure',
        message: INVALID_TOKEN,
        why: 'invalid token: "exp" claim timestamp check failed',
        claimed: null,
      }
      assert.deepEqual(challenge, { kind: 'continue', token: Buffer.from(INVALID_TOKEN), failed })
      assert.deepEqual(await exchange.step(answer), failed)
    }
  })

  test('a malformed message fails at once, without a request to the provider', async t => {
    const { provider, mechanism } = await setUp(t)
    for (const bytes of [CONTROL_A, Buffer.alloc(0), Buffer.from('\0user\0pass'), Buffer.alloc(70_000, 97)]) {
      const step = await mechanism.begin(CHANNEL).step(bytes)
      assert.equal(step.kind, 'failure')
      assert.match(step.kind === 'failure' ? step.message : '', /^Invalid OAUTHBEARER client first message/)
    }
    assert.deepEqual(provider.requests, [])
  })

  test('an authorization id other than the principal fails in the words of Apache Kafka', async t => {
    const { mechanism, sign } = await setUp(t)
    const token = await sign()
    for (const authzid of ['grace', 'ADA', 'ada ', 'User:ada'])
      assert.deepEqual(await mechanism.begin(CHANNEL).step(first(token, { authzid })), {
        kind: 'failure',
        message: `Authentication failed: Client requested an authorization id (${authzid}) that is different from the token's principal name (ada)`,
        why: 'the authorization id is not the principal of the token',
        claimed: authzid,
      })
    const long = await mechanism.begin(CHANNEL).step(first(token, { authzid: 'a'.repeat(60_000) }))
    assert(long.kind === 'failure' && long.message.length < 300 && long.claimed === null)
  })

  test('a failure contains no part of the token', async t => {
    const { mechanism, provider, claims, sign } = await setUp(t)
    const SECRET = 'SECRET-7f'
    const tokens = [
      await sign({ iss: SECRET }),
      await sign({ aud: SECRET }),
      await sign({ sub: `${SECRET}:` }),
      await sign({ groups: [SECRET, 7] }),
      await sign({ tenant: [SECRET] }),
      await sign({ typ: SECRET }),
      await sign({}, { typ: SECRET }),
      await sign({}, { kid: SECRET }),
      signAsTold(key, { alg: 'ES256', crit: [SECRET], [SECRET]: 1 }, claims()),
      `${encoded({ alg: SECRET })}.${encoded(claims())}.AAAA`,
      `${encoded({ alg: 'ES256', kid: key.kid })}.${encoded({ [SECRET]: 1 })}.AAAA`,
      SECRET,
    ]
    for (const token of tokens) {
      const exchange = mechanism.begin(CHANNEL)
      const challenge = await exchange.step(first(token))
      const failure = await exchange.step(CONTROL_A)
      assert.deepEqual([challenge.kind, failure.kind], ['continue', 'failure'], token)
      assert.doesNotMatch(JSON.stringify([challenge, failure]), new RegExp(`${SECRET}|${encoded(SECRET)}|eyJ`))
    }
    assert(provider.requests.length > 0)
  })

  // For each check: a token that is bad only for this check, and a change of the text of the modules that switches the
  // check off. With the change the token is accepted, so no other check refuses it.
  const FILES = { signed: 'signed-token.ts', access: 'sasl/access-token.ts', mechanism: 'sasl/oauthbearer.ts' } as const
  const checks: readonly {
    readonly name: string
    readonly token: Claims | ((claims: Claims) => string | Promise<string>)
    readonly why: RegExp
    readonly file: string
    readonly text: string
    readonly instead: string
  }[] = [
    {
      name: 'the signature',
      token: async claims => await makeKey('ES256', key.kid).then(by => signAsTold(by, { alg: 'ES256' }, claims)),
      why: /signature verification failed/,
      file: FILES.signed,
      text: 'await jwtVerify(token,',
      instead: `await (async (text: string, ..._unused: unknown[]) => {
        const [protectedHeader, payload] = text.split('.').map(part => JSON.parse(String(Buffer.from(part, 'base64url')) || '{}'))
        return { protectedHeader, payload }
      })(token.slice(0, token.lastIndexOf('.')),`,
    },
    {
      name: 'the issuer',
      token: { iss: 'https://other' },
      why: /"iss"/,
      file: FILES.signed,
      text: '      issuer,\n',
      instead: '',
    },
    {
      name: 'the audience',
      token: { aud: ['other'] },
      why: /"aud"/,
      file: FILES.signed,
      text: 'audience: [audience],',
      instead: '',
    },
    {
      name: 'that there is an end',
      token: { exp: undefined },
      why: /missing required "exp"/,
      file: FILES.signed,
      text: "requiredClaims: ['exp'],",
      instead: '',
    },
    {
      name: 'the end',
      token: { exp: -60, iat: -90 },
      why: /"exp" claim timestamp/,
      file: FILES.signed,
      text: 'skewMs / 1000',
      instead: '1e12',
    },
    {
      name: 'the beginning',
      token: { nbf: 60 },
      why: /"nbf" claim timestamp/,
      file: FILES.signed,
      text: 'skewMs / 1000',
      instead: '1e12',
    },
    {
      name: 'that it was issued in the past',
      token: { iat: 60 },
      why: /"iat" lies in the future/,
      file: FILES.signed,
      text: 'iat * 1000 > clock.now() + skewMs',
      instead: 'false',
    },
    {
      name: 'that it was issued before its end',
      token: { iat: 20, exp: 10 },
      why: /"iat" lies after "exp"/,
      file: FILES.signed,
      text: 'iat > exp!',
      instead: 'false',
    },
    {
      name: 'that no extension is critical',
      token: claims => signAsTold(key, { alg: 'ES256', crit: ['b64'], b64: true }, claims),
      why: /its header has "crit"/,
      file: FILES.signed,
      text: 'protectedHeader.crit !== undefined',
      instead: 'false',
    },
    {
      name: 'the depth of the claims',
      token: { nested: nested(16) },
      why: /more than 16 levels/,
      file: FILES.signed,
      text: '!isShallow(payload, MOST_LEVELS)',
      instead: 'false',
    },
    {
      name: 'the type',
      token: { typ: 'ID' },
      why: /the type in its claims/,
      file: FILES.access,
      text: 'if (objection !== null) return',
      instead: 'if (false) return',
    },
    {
      name: 'the principal',
      token: { sub: 'a:b' },
      why: /the claim sub/,
      file: FILES.access,
      text: '!isName(name)',
      instead: "typeof name !== 'string'",
    },
    {
      name: 'the groups',
      token: { groups: ['a', 'b\n'] },
      why: /the claim groups/,
      file: FILES.access,
      text: '!groups.every(isLabel)',
      instead: 'false',
    },
    {
      name: 'the tenant',
      token: { tenant: 'b\n' },
      why: /the claim tenant/,
      file: FILES.access,
      text: '!isLabel(tenant)',
      instead: "typeof tenant !== 'string'",
    },
  ]

  test('each check refuses a token that no other check refuses', async t => {
    const { provider, clock, settings, mechanism, claims, sign } = await setUp(t)
    const hooks = registerHooks({
      resolve(specifier, context, next) {
        const resolved = next(specifier, context)
        const number = /\?without=\d+$/.exec(context.parentURL ?? '')?.[0] ?? ''
        return resolved.url.includes('/src/auth/') ? { ...resolved, url: resolved.url + number } : resolved
      },
      load(url, context, next) {
        const loaded = next(url, context)
        const check = checks[Number(/\?without=(\d+)$/.exec(url)?.[1] ?? -1)]
        if (check === undefined || !url.includes(`/${check.file}?`)) return loaded
        const source = String(Buffer.from(loaded.source as Uint8Array))
        assert.equal(source.split(check.text).length, 2, `${check.file} has one ${check.text}`)
        return { ...loaded, source: source.replace(check.text, () => check.instead) }
      },
    })
    t.after(() => hooks.deregister())
    assert.equal(await outcome(mechanism, await sign()), 'success')
    const now = seconds(clock)
    for (const [number, { name, token, why }] of checks.entries()) {
      const changes =
        typeof token === 'function'
          ? {}
          : Object.fromEntries(
              Object.entries(token).map(([claim, value]) => [claim, typeof value === 'number' ? now + value : value]),
            )
      const text = typeof token === 'function' ? await token(claims()) : await provider.sign(claims(changes))
      assert.match(await outcome(mechanism, text), why, name)
      const without = (await import(`./oauthbearer.ts?without=${number}`)) as typeof import('./oauthbearer.ts')
      assert.equal(await outcome(without.openOauthbearer({ settings, clock }), text), 'success', `without ${name}`)
    }
  })

  test('a token with one thing missing or wrong is refused', async t => {
    const { clock, provider, sign, outcome } = await setUp(t)
    const now = seconds(clock)
    const cases: readonly [string, Claims][] = [
      ['no issuer', { iss: undefined }],
      ['the issuer with a slash', { iss: `${provider.issuer}/` }],
      ['the issuer in other case', { iss: provider.issuer.toUpperCase() }],
      ['the issuer in a list', { iss: [provider.issuer] }],
      ['no audience', { aud: undefined }],
      ['the start of the audience', { aud: 'kafk' }],
      ['the audience in other case', { aud: 'Kafka' }],
      ['an empty list of audiences', { aud: [] }],
      ['the audience in an object', { aud: { kafka: true } }],
      ['an end in words', { exp: '2999-01-01' }],
      ['an end that is not a number', { exp: null }],
      ['over for exactly the skew', { exp: now - 30 }],
      ['not valid for longer than the skew', { nbf: now + 31 }],
      ['a beginning in words', { nbf: 'now' }],
      ['issued later than the skew', { iat: now + 31 }],
      ['issued in words', { iat: 'now' }],
      ['no principal', { sub: undefined }],
      ['groups in an object', { groups: { a: true } }],
      ['a tenant that is a number', { tenant: 7 }],
    ]
    for (const [name, changes] of cases) assert.match(await outcome(await sign(changes)), /^invalid token/, name)
    for (const changes of [
      { aud: ['other', 'kafka'] },
      { exp: now - 29, iat: now - 60 },
      { nbf: now + 30 },
      { iat: now + 30 },
      { iat: undefined },
    ])
      assert.equal(await outcome(await sign(changes)), 'success', JSON.stringify(changes))
  })

  test('a token is valid until it expires, without the skew that lets it in', async t => {
    const { clock, mechanism, sign } = await setUp(t)
    const token = await sign()
    await clock.advance(320_000)
    const step = await mechanism.begin(CHANNEL).step(first(token))
    assert.equal(step.kind === 'success' && step.client.validUntilMs, clock.now() - 20_000)
    await clock.advance(10_000)
    assert.equal((await mechanism.begin(CHANNEL).step(first(token))).kind, 'continue')
  })

  test('no signature, and HMAC with the public key as its secret, are refused although the key name is right', async t => {
    const { provider, claims, outcome } = await setUp(t)
    const pem = await exportSPKI(
      (await importJWK({ ...rsa.jwk, ext: true }, 'RS256', { extractable: true })) as CryptoKey,
    )
    for (const alg of ['HS256', 'HS384', 'HS512'])
      for (const secret of [Buffer.from(pem), Buffer.from(JSON.stringify(rsa.jwk)), base64url.decode(rsa.jwk.n!)]) {
        const forged = await new SignJWT(claims()).setProtectedHeader({ alg, kid: rsa.kid }).sign(secret)
        assert.match(await outcome(forged), /^invalid token: "alg"/, alg)
      }
    const payload = encoded(claims())
    for (const alg of ['none', 'None', 'NONE', 'HS256', 'EdDSA', 'toString', '__proto__', '', 7, null, undefined])
      for (const kid of [key.kid, rsa.kid, undefined])
        assert.match(await outcome(`${encoded({ alg, kid })}.${payload}.`), /^invalid token/, String(alg))
    assert.match(await outcome(new UnsecuredJWT(claims()).encode()), /^invalid token/)
    assert.deepEqual(provider.requests, [], 'no keys are fetched for them')
  })

  test('the algorithm of the token must be that of its key, even if the signature is valid', async t => {
    const { claims, outcome } = await setUp(t)
    for (const alg of ['RS384', 'PS256', 'ES256'])
      assert.match(await outcome(signAsTold(rsa, { alg }, claims())), /^invalid token/, alg)
    for (const alg of ['ES384', 'RS256'])
      assert.match(await outcome(signAsTold(key, { alg }, claims())), /^invalid token/, alg)
  })

  test('critical extensions in the header are refused, even if the signature is valid', async t => {
    const { claims, outcome } = await setUp(t)
    for (const header of [
      { crit: ['exp'], exp: 1 },
      { crit: [] },
      { crit: 'b64' },
      { crit: null },
      { crit: ['b64'], b64: false },
    ])
      assert.match(await outcome(signAsTold(key, { alg: 'ES256', ...header }, claims())), /^invalid token/)
  })

  test('addresses and keys in the header are not followed: no request arrives', async t => {
    const { sign, outcome } = await setUp(t)
    const impostor = await makeKey('ES256', 'theirs')
    const { url, asked } = await serveKeys(t, [impostor.jwk])
    const headers = [
      ...[{ jku: `${url}/keys` }, { x5u: `${url}/cert` }, { jwk: impostor.jwk }, { x5c: ['AAAA'] }],
      ...[{ kid: `${url}/keys` }, { kid: '../../etc/passwd' }, { iss: url, jku: `${url}/keys` }],
    ]
    for (const header of headers)
      assert.match(await outcome(await sign({ iss: url }, header, impostor)), /^invalid token/)
    for (const header of headers) assert.match(await outcome(await sign({}, header, impostor)), /^invalid token/)
    assert.deepEqual(asked, [])
  })

  test('an oversize or deeply nested token is refused quickly', async t => {
    const { mechanism, claims, sign, outcome } = await setUp(t)
    assert.equal(await outcome(await sign({ padding: 'x'.repeat(11_000) })), 'success')
    const large = await mechanism.begin(CHANNEL).step(first(await sign({ padding: 'x'.repeat(13_000) })))
    assert(large.kind === 'failure' && /more than 16384 bytes/.test(large.message))
    const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
    const [header, payload, signature] = (await sign()).split('.')
    const startedAt = process.cpuUsage()
    for (const token of [
      `${base64url.encode(`{"alg":"ES256","kid":"${key.kid}","x":${deep}}`)}.${payload}.${signature}`,
      `${base64url.encode(deep)}.${payload}.${signature}`,
      `${header}.${base64url.encode(`{"sub":${deep}}`)}.${signature}`,
      ...['sub', 'groups', 'other'].map(claim => signAsTold(key, { alg: 'ES256' }, claims({ [claim]: nested(3_000) }))),
    ])
      assert.match(await outcome(token), /^invalid token/)
    assert(process.cpuUsage(startedAt).user < 500_000)
  })

  test('an id_token of the same provider is refused, with its own audience and with that of the broker', async t => {
    const { provider, clock, outcome } = await setUp(t)
    const idToken = (changes: Claims) => provider.sign(provider.claims('the nonce of a login', clock.now(), changes))
    assert.match(await outcome(await idToken({})), /"aud"/)
    assert.match(await outcome(await idToken({ aud: 'kafka' })), /it is an id_token/)
    assert.match(await outcome(await idToken({ aud: 'kafka', nonce: undefined, typ: 'ID' })), /the type in its claims/)
  })

  test('a group that the provider has removed is not in the next token, and neither is the tenant', async t => {
    const { mechanism, sign } = await setUp(t)
    const client = async (changes: Claims) => {
      const step = await mechanism.begin(CHANNEL).step(first(await sign(changes)))
      return step.kind === 'success' ? [step.client.groups, step.client.tenant] : step.kind
    }
    assert.deepEqual(await client({ groups: ['staff', 'admins'], tenant: 'eu' }), [['staff', 'admins'], 'eu'])
    assert.deepEqual(await client({ groups: ['staff'], tenant: 'us' }), [['staff'], 'us'])
    assert.deepEqual(await client({}), [[], null])
  })

  test('10,000 random key names cause at most one more fetch of the keys', async t => {
    const { provider, clock, claims, sign, outcome } = await setUp(t)
    assert.equal(await outcome(await sign()), 'success')
    await clock.advance(30_000)
    const asked = provider.requests.length
    const payload = encoded(claims())
    for (let batch = 0; batch < 100; batch++) {
      const tokens = Array.from(
        { length: 100 },
        (_, at) => `${encoded({ alg: 'ES256', kid: `made-up-${batch}-${at}` })}.${payload}.AAAA`,
      )
      for (const result of await Promise.all(tokens.map(outcome))) assert.match(result, /^invalid token/)
    }
    assert.deepEqual(provider.requests.slice(asked), ['GET /.well-known/openid-configuration', 'GET /keys'])
  })

  test('a key that the provider begins to use is found, also at another address', async t => {
    const { provider, clock, sign, outcome } = await setUp(t)
    assert.equal(await outcome(await sign()), 'success')
    const rotated = await makeKey('ES256', 'rotated')
    provider.document = { jwks_uri: `${provider.issuer}/moved` }
    provider.instead.set('/moved', response => json(response, { keys: [rotated.jwk] }))
    await clock.advance(30_000)
    assert.equal(await outcome(await sign({}, {}, rotated)), 'success')
    assert.match(await outcome(await sign()), /no applicable key/, 'the old key is gone')
  })

  test('a thousand logins that wait for the keys share one request', async t => {
    const { provider, sign, outcome } = await setUp(t)
    const token = await sign()
    const results = await Promise.all(Array.from({ length: 1_000 }, () => outcome(token)))
    assert(results.every(result => result === 'success'))
    assert.deepEqual(provider.requests, ['GET /.well-known/openid-configuration', 'GET /keys'])
  })

  test('without usable keys no token is accepted or called invalid, and the provider is asked again after a second', async t => {
    const { provider, clock, sign, outcome } = await setUp(t)
    const large = '{"keys":[]}'.padEnd(10 * 1024 * 1024)
    const answers: readonly [string, Handler][] = [
      ['an error', response => json(response, {}, 500)],
      ['a page', response => response.writeHead(200, { 'content-type': 'text/html' }).end('{}')],
      ['no content type', response => response.end(JSON.stringify({ keys: [key.jwk] }))],
      ['no JSON', response => text(response, '{"keys":[')],
      ['null', response => text(response, 'null')],
      ['a list', response => text(response, '[]')],
      ['10 MB', response => text(response, large)],
      ['a redirect', response => response.writeHead(302, { location: '/elsewhere' }).end()],
      ['a broken connection', response => response.destroy()],
    ]
    const documents: readonly [string, Claims][] = [
      ['another issuer', { issuer: 'https://other.example' }],
      ['the issuer with a slash', { issuer: `${provider.issuer}/` }],
      ['no issuer', { issuer: undefined }],
      ['no address of keys', { jwks_uri: undefined }],
      ['an address that is no text', { jwks_uri: [`${provider.issuer}/keys`] }],
      ['a file as address', { jwks_uri: 'file:///etc/passwd' }],
      ['an address of another machine', { jwks_uri: 'http://169.254.169.254/keys' }],
    ]
    const sets: readonly [string, readonly unknown[]][] = [
      ['an empty set', []],
      ['a secret', [{ kty: 'oct', k: 'c2VjcmV0', kid: key.kid, alg: 'HS256' }]],
      ['a private key', [{ ...key.jwk, d: 'AAAA' }]],
      ['a weak key', [weak()]],
      ['too many keys', Array.from({ length: 101 }, () => key.jwk)],
    ]
    const cases: readonly [string, () => void][] = [
      ...answers.flatMap(([name, handler]) =>
        ['/.well-known/openid-configuration', '/keys'].map(
          path => [`${name} at ${path}`, () => void provider.instead.set(path, handler)] as [string, () => void],
        ),
      ),
      ...documents.map(([name, changes]): [string, () => void] => [
        name,
        () => {
          provider.document = changes
        },
      ]),
      ...sets.map(([name, keys]): [string, () => void] => [
        name,
        () => {
          provider.keys = keys
        },
      ]),
    ]
    const token = await sign({ exp: seconds(clock) + 3600 })
    for (const [name, misbehave] of cases) {
      misbehave()
      await assert.rejects(outcome(token), ProviderUnavailable, name)
      const asked = provider.requests.length
      await assert.rejects(outcome(token), ProviderUnavailable, `${name}, at once again`)
      await clock.advance(999)
      await assert.rejects(outcome(token), ProviderUnavailable, `${name}, within a second`)
      assert.equal(provider.requests.length, asked, `${name}: the provider is not asked again within a second`)
      provider.instead.clear()
      provider.document = {}
      provider.keys = [key.jwk]
      await clock.advance(1)
    }
    assert.equal(provider.requests.includes('GET /elsewhere'), false)
    assert.equal(await outcome(token), 'success')
  })

  test('a provider that answers slowly or not at all is given up after 5 s', async t => {
    const { provider, clock, sign, outcome } = await setUp(t)
    for (const path of ['/.well-known/openid-configuration', '/keys']) {
      const begun = new Promise<void>(resolve =>
        provider.instead.set(path, response => {
          response.writeHead(200, { 'content-type': 'application/json' }).write('{')
          resolve()
        }),
      )
      const refused = assert.rejects(outcome(await sign()), /has not answered within 5 s/)
      await begun
      await clock.advance(5_000)
      await refused
      provider.instead.clear()
    }
    assert.equal(await outcome(await sign()), 'success')
  })

  test('a provider whose certificate no authority of this machine has signed gives no keys', {
    skip: noOpenssl,
  }, async t => {
    const { certificateFile, keyFile } = await makeCertificate(t)
    const asked: string[] = []
    const files = { cert: await readFile(certificateFile), key: await readFile(keyFile) }
    const server = createTlsServer(files, (request, response) => {
      asked.push(request.url!)
      json(response, { keys: [key.jwk] })
    }).listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    t.after(() => new Promise(resolve => server.close(resolve)))
    const issuer = `https://localhost:${(server.address() as AddressInfo).port}`
    const { sign, outcome } = await setUp(t, {
      'broker.sasl.oauth.issuer-uri': issuer,
      'broker.sasl.oauth.jwks-uri': `${issuer}/keys`,
    })
    await assert.rejects(outcome(await sign({ iss: issuer })), (error: Error) => {
      return (
        error instanceof ProviderUnavailable && /cannot be reached: DEPTH_ZERO_SELF_SIGNED_CERT/.test(error.message)
      )
    })
    assert.deepEqual(asked, [])
  })

  test('keys of other kinds and weak keys are skipped beside a good one', async t => {
    const { provider, sign, claims, outcome } = await setUp(t)
    const signing = { ...rsa.jwk, kid: 'signing', key_ops: ['sign'] }
    provider.keys = [signing, { kty: 'oct', k: 'c2VjcmV0', kid: 'secret' }, weak(), null, 7, { kty: 'OKP' }, key.jwk]
    assert.equal(await outcome(await sign()), 'success')
    assert.match(await outcome(await sign({}, {}, rsa)), /no applicable key/)
    const hmac = await new SignJWT(claims())
      .setProtectedHeader({ alg: 'HS256', kid: 'secret' })
      .sign(Buffer.from('secret'.padEnd(32)))
    assert.match(await outcome(hmac), /"alg"/)
    assert.match(await outcome(await sign({}, { kid: 'signing' }, rsa)), /no applicable key/)
  })

  test('a key whose stated uses contradict each other refuses no token', async t => {
    const { provider, sign, outcome } = await setUp(t)
    for (const uses of [{ key_ops: ['verify', 'encrypt'] }, { key_ops: ['verify', 'verify'] }, { ext: 'no' }]) {
      provider.keys = [{ ...rsa.jwk, kid: JSON.stringify(uses), ...uses }, ...provider.keys]
    }
    for (const { kid } of provider.keys as readonly { readonly kid: string }[])
      assert.equal(await outcome(await sign({}, { kid }, kid === key.kid ? key : rsa)), 'success', kid)
  })

  test('while the provider is away known keys are used until they are ten minutes old', async t => {
    const { provider, clock, sign, outcome } = await setUp(t)
    const isAccepted = async () => (await outcome(await sign())) === 'success'
    assert(await isAccepted())
    for (const path of ['/.well-known/openid-configuration', '/keys'])
      provider.instead.set(path, response => response.destroy())
    for (const ms of [299_999, 1, 60_000, 200_000, 39_999]) {
      await clock.advance(ms)
      assert(await isAccepted())
    }
    await clock.advance(1)
    await assert.rejects(isAccepted(), ProviderUnavailable)
    provider.instead.clear()
    await clock.advance(1_000)
    assert(await isAccepted())
  })

  test('keys are fetched again at half their age, and no login waits for that', async t => {
    const { provider, clock, sign, outcome } = await setUp(t)
    assert.equal(await outcome(await sign()), 'success')
    await clock.advance(300_000)
    const rotated = await makeKey('ES256', 'rotated')
    const { promise: asked, resolve } = Promise.withResolvers<() => void>()
    provider.instead.set('/keys', response => resolve(() => json(response, { keys: [key.jwk, rotated.jwk] })))
    assert.equal(await outcome(await sign()), 'success')
    const answer = await asked
    const waiting = outcome(await sign({}, {}, rotated))
    answer()
    assert.equal(await waiting, 'success')
    provider.instead.clear()
    await clock.advance(299_999)
    assert.equal(await outcome(await sign()), 'success', 'the keys are 299,999 ms old')
    assert.equal(provider.requests.length, 4)
  })

  test('an unknown key is not called invalid while the provider cannot say whether it is new', async t => {
    const { provider, clock, sign, outcome } = await setUp(t)
    assert.equal(await outcome(await sign()), 'success')
    const rotated = await makeKey('ES256', 'rotated')
    provider.keys = [key.jwk, rotated.jwk]
    provider.instead.set('/keys', response => response.destroy())
    await clock.advance(30_000)
    await assert.rejects(outcome(await sign({}, {}, rotated)), ProviderUnavailable)
    await assert.rejects(outcome(await sign({}, {}, rotated)), ProviderUnavailable, 'at once again')
    assert.equal(await outcome(await sign()), 'success', 'a known key is enough')
    provider.instead.clear()
    await clock.advance(1_000)
    assert.equal(await outcome(await sign({}, {}, rotated)), 'success')
  })

  test('an address of the keys in the settings is used without a discovery, also on this machine', async t => {
    const other = await startProvider(t, rsa)
    const { provider, sign, outcome } = await setUp(t, {
      'broker.sasl.oauth.issuer-uri': 'https://id.example',
      'broker.sasl.oauth.jwks-uri': `${other.issuer}/keys`,
    })
    assert.equal(await outcome(await sign({ iss: 'https://id.example' }, {}, rsa)), 'success')
    assert.deepEqual([other.requests, provider.requests], [['GET /keys'], []])
  })

  test('an issuer with a path or a slash at its end is discovered below it', async t => {
    const server = await startProvider(t, key)
    const issuer = `${server.issuer}/realms/main/`
    server.instead.set('/realms/main/.well-known/openid-configuration', response =>
      json(response, { issuer, jwks_uri: `${server.issuer}/keys` }),
    )
    const { sign, outcome } = await setUp(t, { 'broker.sasl.oauth.issuer-uri': issuer })
    assert.equal(await outcome(await sign({ iss: issuer })), 'success')
    assert.match(await outcome(await sign({ iss: issuer.slice(0, -1) })), /"iss"/)
  })

  /** Returns the RSA key with a modulus of 2,040 bits. */
  function weak() {
    return { ...rsa.jwk, n: Buffer.from(rsa.jwk.n!, 'base64url').subarray(0, 255).toString('base64url') }
  }
})

type Handler = Parameters<TestProvider['instead']['set']>[1]
type Response = Parameters<Handler>[0]

function text(response: Response, body: string, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

function json(response: Response, body: unknown, status = 200): void {
  text(response, JSON.stringify(body), status)
}

function seconds(clock: SimulatedClock): number {
  return Math.floor(clock.now() / 1000)
}

/** Returns arrays within arrays, this many. */
function nested(levels: number): unknown {
  let value: unknown = []
  for (let level = 1; level < levels; level++) value = [value]
  return value
}

function first(token: string, { authzid = '', rest = '' } = {}): Buffer {
  return Buffer.from(`n,${authzid && `a=${authzid}`},\u0001auth=Bearer ${token}${rest}\u0001\u0001`)
}

/** Returns `success`, or why the token is refused. */
async function outcome(mechanism: SaslMechanism, token: string): Promise<string> {
  const exchange = mechanism.begin(CHANNEL)
  let step: Step = await exchange.step(first(token))
  if (step.kind === 'continue') step = await exchange.step(CONTROL_A)
  return step.kind === 'failure' ? step.why : step.kind
}

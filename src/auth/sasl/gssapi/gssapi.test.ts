import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import {
  type ClientToken,
  type KeytabKey,
  MUTUAL,
  makeToken,
  makeWrap,
  openApRep,
  type TokenOptions,
  writeKeytab,
} from '../../../../testing/kerberos-client.ts'
import { mutate } from '../../../../testing/mutation.ts'
import { seed } from '../../../../testing/seed.ts'
import { SimulatedClock } from '../../../../testing/sim/clock.ts'
import { temporaryFolder } from '../../../../testing/temporary-folder.ts'
import { seededRandom } from '../../../base/random.ts'
import { SettingsError, testSettings, type Values } from '../../../settings/settings.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import type { SaslExchange, Step } from '../mechanism.ts'
import { derInteger } from './der.ts'
import { ENCTYPES } from './enctypes.ts'
import { openGssapi } from './gssapi.ts'
import { unframe } from './initial-token.ts'
import { readApReq } from './messages.ts'

const NOW_MS = Date.UTC(2026, 10, 26, 11, 30, 0, 123)
const MINUTE_MS = 60_000
const random = seededRandom(seed)
const SERVICE = 'kafka/broker.test@KETCH.TEST'
const CHANNEL = { address: '127.0.0.1', exportKey: () => null }

function newKey(enctype = 18, kvno = 3, principal = SERVICE): KeytabKey {
  const { keyBytes } = ENCTYPES.find(({ number }) => number === enctype) ?? { keyBytes: 16 }
  return { principal, kvno, enctype, bytes: random.bytes(keyBytes) }
}

interface OpenOptions {
  readonly keys?: readonly KeytabKey[]
  readonly settings?: Partial<Values>
  readonly conf?: string
  readonly mode?: number
  readonly keytab?: Buffer
}

async function open(
  t: TestContext,
  { keys = [newKey()], settings = {}, conf, mode = 0o600, keytab }: OpenOptions = {},
) {
  const folder = await temporaryFolder(t, 'ketch-gssapi-')
  const path = join(folder, 'kafka.keytab')
  const confFile = join(folder, 'krb5.conf')
  await writeFile(path, keytab ?? writeKeytab(keys))
  await chmod(path, mode)
  if (conf !== undefined) await writeFile(confFile, conf.replaceAll('$FOLDER', folder))
  const clock = new SimulatedClock(NOW_MS)
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain', levels: new Map() })
  const values = { 'broker.sasl.gssapi.keytab-file': path, 'broker.sasl.gssapi.principal': SERVICE, ...settings }
  const rooms = { settings: testSettings(values), clock, random, logger }
  const mechanism = await openGssapi(rooms, confFile)
  const token = (more: Partial<TokenOptions> = {}) =>
    makeToken({ serviceKey: keys[0]!, random, atMs: clock.now(), ...more })
  return { mechanism, clock, lines, path, folder, token, begin: () => mechanism.begin(CHANNEL) }
}

/** The client's answer to the offer: a layer, a size, and an identity. */
const choice = (identity = '', layer = 1) => Buffer.concat([Buffer.from([layer, 0, 0, 0]), Buffer.from(identity)])

/** Takes a client that does not ask for an AP-REP through the exchange. */
async function finish(exchange: SaslExchange, client: ClientToken, data = choice()): Promise<Step> {
  const offered = await exchange.step(client.token)
  assert.equal(offered.kind, 'continue')
  return await exchange.step(makeWrap(client, data, random))
}

const linesAbout = (lines: readonly string[], text: string) => lines.filter(line => line.includes(text))

function whyOf(step: Step): string {
  assert.equal(step.kind, 'failure')
  return step.kind === 'failure' ? step.why : ''
}

test('a client with a ticket is accepted under its short name, without a tenant, with each enctype', async t => {
  for (const { number } of ENCTYPES) {
    const { begin, token } = await open(t, { keys: [newKey(number)] })
    const step = await finish(begin(), token({ sessionEnctype: number, client: 'alice/host@KETCH.TEST' }))
    const client = { name: 'alice', tenant: null, groups: [], validUntilMs: null }
    assert.deepEqual(step, { kind: 'success', token: Buffer.alloc(0), client })
  }
})

test('without an AP-REP the offer has the sequence number of the client, and asks for no layer', async t => {
  const { begin, token } = await open(t)
  const client = token({ sequence: 0x8000_0001 })
  const step = await begin().step(client.token)
  assert(step.kind === 'continue')
  const offer = Buffer.from(step.token)
  assert.equal(offer.toString('hex', 0, 20), '050401ff000c00000000000080000001' + '01000000')
  assert.equal(offer.length, 32)
})

test('a client that asks for an AP-REP gets its own time back, encrypted with the session key', async t => {
  const { begin, token } = await open(t)
  for (const asked of [{ flags: MUTUAL }, { apOptions: 0x20000000 }, { flags: MUTUAL, subkeyEnctype: 20 }]) {
    const client = token(asked)
    const exchange = begin()
    const answer = await exchange.step(client.token)
    assert(answer.kind === 'continue')
    const part = openApRep(Buffer.from(answer.token), client.sessionKey)
    assert(part !== null)
    assert(part.includes(Buffer.from('20261126113000Z').toString('hex')))
    const offer = await exchange.step(new Uint8Array())
    assert(offer.kind === 'continue')
    const sequence = Buffer.from(offer.token).readUInt32BE(12)
    assert(part.endsWith(derInteger(sequence).toString('hex')))
    assert.equal((await exchange.step(makeWrap(client, choice(), random))).kind, 'success')
  }
})

test('after an AP-REP only an empty token is taken', async t => {
  const { begin, token } = await open(t)
  const client = token({ flags: MUTUAL })
  const exchange = begin()
  await exchange.step(client.token)
  assert.match(whyOf(await exchange.step(makeWrap(client, choice(), random))), /an empty token is expected/)
})

test('a delegated ticket and channel bindings in the checksum change nothing', async t => {
  const { begin, token } = await open(t)
  const bytes = Buffer.concat([
    Buffer.from([16, 0, 0, 0]),
    random.bytes(16),
    Buffer.from([1, 0, 0, 0]),
    random.bytes(700),
  ])
  assert.equal((await finish(begin(), token({ checksum: { type: 0x8003, bytes } }))).kind, 'success')
})

test('authorization data that may be ignored is ignored', async t => {
  const { begin, token } = await open(t)
  assert.equal((await finish(begin(), token({ ticketData: [1, 1], authenticatorData: [1] }))).kind, 'success')
})

test('a ticket of 100 KiB is taken, as Active Directory makes them', async t => {
  const { begin, token } = await open(t)
  const ticketData = new Array<number>(10_000).fill(1)
  const client = token({ ticketData })
  assert(client.token.length > 100 * 1024)
  assert.equal((await finish(begin(), client)).kind, 'success')
})

const REFUSALS: readonly (readonly [what: string, options: Partial<TokenOptions>, why: RegExp])[] = [
  [
    'another service',
    { service: 'http/broker.test@KETCH.TEST' },
    /^the ticket is for 'http\/broker.test@KETCH.TEST', and this broker is kafka\/broker.test@KETCH.TEST$/,
  ],
  ['another host', { service: 'kafka/other.test@KETCH.TEST' }, /^the ticket is for 'kafka\/other.test@/],
  ['another realm of the service', { service: 'kafka/broker.test@OTHER.TEST' }, /^the ticket is for /],
  ['another key', { serviceKey: newKey() }, /^the ticket was changed, or not encrypted with the key of .* version 3$/],
  ['an unknown key version', { kvno: 4 }, /^the keytab does not hold the key of .*aes256-cts-hmac-sha1-96, version 4$/],
  [
    'an enctype without a key',
    { serviceKey: newKey(20) },
    /^the keytab does not hold the key of .*aes256-cts-hmac-sha384-192/,
  ],
  [
    'a client of another realm',
    { client: 'admin@OTHER.TEST' },
    /^only clients of the broker's realm KETCH.TEST are accepted, and this one is of 'OTHER.TEST'/,
  ],
  ['an anonymous ticket', { ticketFlags: 0x40008000 }, /^the ticket is anonymous/],
  ['an anonymous name', { client: 'WELLKNOWN/ANONYMOUS@KETCH.TEST' }, /^anonymous and other well-known principals/],
  ['an invalid ticket', { ticketFlags: 0x41000000 }, /^the ticket is not valid until/],
  ['a ticket through other realms', { transited: 'OTHER.TEST' }, /through other realms$/],
  [
    'a ticket that is not valid yet',
    { startsAtMs: NOW_MS + 6 * MINUTE_MS },
    /^the ticket is not valid yet: 360 s early$/,
  ],
  ['an expired ticket', { endsAtMs: NOW_MS - 6 * MINUTE_MS }, /^the ticket expired 360 s ago$/],
  [
    'a clock that is slow',
    { atMs: NOW_MS - 5 * MINUTE_MS - 1000 },
    /^the client's clock differs by 301 s; at most 300 s/,
  ],
  [
    'a clock that is fast',
    { atMs: NOW_MS + 5 * MINUTE_MS + 1000 },
    /^the client's clock differs by 301 s; at most 300 s/,
  ],
  [
    'an authenticator of another client',
    { authenticatorClient: 'bob@KETCH.TEST' },
    /^the authenticator is of 'bob@KETCH.TEST'/,
  ],
  ['an authenticator of another realm', { authenticatorClient: 'alice@OTHER.TEST' }, /^the authenticator is of /],
  ['no checksum', { checksum: null }, /has no checksum$/],
  [
    'a checksum of another type',
    { checksum: { type: 16, bytes: Buffer.alloc(24) } },
    /has type 16, and 0x8003 is expected$/,
  ],
  ['a checksum that is too short', { checksum: { type: 0x8003, bytes: Buffer.from([16, 0, 0, 0]) } }, /is too short$/],
  [
    'unknown restrictions in the ticket',
    { ticketData: [1, 77] },
    /^authorization data of the unknown type 77 restricts/,
  ],
  [
    'unknown restrictions in the authenticator',
    { authenticatorData: [78] },
    /^authorization data of the unknown type 78/,
  ],
  ['user-to-user authentication', { apOptions: 0x40000000 }, /^user-to-user authentication is not supported/],
  ['Kerberos 4', { pvno: 4 }, /^malformed token: pvno is 4, and 5 is expected$/],
  ['SPNEGO', { mechanism: '2b0601050502' }, /^the client speaks SPNEGO; plain Kerberos V5 is expected/],
  [
    'another mechanism',
    { mechanism: '2a864886f71201020203' },
    /^the GSSAPI mechanism of the token is not Kerberos V5$/,
  ],
]

test('a token that breaks one rule of Kerberos is refused, and the log says which one', async t => {
  const { begin, token } = await open(t)
  for (const [what, options, why] of REFUSALS) {
    const step = await begin().step(token(options).token)
    assert.match(whyOf(step), why, what)
    assert(step.kind === 'failure')
    assert.equal(step.message, 'Authentication failed: the broker does not accept the Kerberos credentials')
  }
})

test('within five minutes of skew a ticket and an authenticator count', async t => {
  const { begin, token } = await open(t)
  const close = [
    { atMs: NOW_MS - 5 * MINUTE_MS + 1000 },
    { atMs: NOW_MS + 5 * MINUTE_MS - 1000 },
    { startsAtMs: NOW_MS + 4 * MINUTE_MS },
    { endsAtMs: NOW_MS - 4 * MINUTE_MS },
  ]
  for (const options of close) assert.equal((await finish(begin(), token(options))).kind, 'success')
})

test('the claimed name is the one in the ticket, and is unknown before the ticket is opened', async t => {
  const { begin, token } = await open(t)
  const claimed = async (options: Partial<TokenOptions>) => {
    const step = await begin().step(token(options).token)
    assert(step.kind === 'failure')
    return step.claimed
  }
  assert.equal(await claimed({ checksum: null, client: 'alice/host@KETCH.TEST' }), 'alice/host@KETCH.TEST')
  assert.equal(await claimed({ serviceKey: newKey(), client: 'mallory@KETCH.TEST' }), null)
})

test('a session key or subkey of a weak enctype is refused by name', async t => {
  const conf = '[libdefaults]\n permitted_enctypes = aes256-cts\n'
  const { begin, token } = await open(t, { conf })
  const why = /^krb5.conf does not permit the encryption type aes128-cts-hmac-sha1-96$/
  assert.match(whyOf(await begin().step(token({ sessionEnctype: 17 }).token)), why)
  assert.match(whyOf(await begin().step(token({ subkeyEnctype: 17 }).token)), why)
  assert.equal((await finish(begin(), token())).kind, 'success')
})

test('tokens that are no AP-REQ are refused', async t => {
  const { begin, token } = await open(t)
  const { token: real } = token()
  const refuse = async (bytes: Uint8Array, why: RegExp) => assert.match(whyOf(await begin().step(bytes)), why)
  await refuse(new Uint8Array(), /^malformed token: it is empty$/)
  await refuse(Buffer.from('NTLMSSP\0\x01\0\0\0'), /^the client speaks NTLM/)
  await refuse(Buffer.from('hello'), /^malformed token: DER tag 0x60 is expected, and 0x68 was found$/)
  await refuse(Buffer.concat([real, Buffer.from([0])]), /bytes follow the GSSAPI frame$/)
  await refuse(Buffer.alloc(300_000, 0x60), /it has 300000 bytes; at most 131072 are taken$/)
  const apRep = Buffer.from(real)
  apRep[apRep.indexOf(Buffer.from([1, 0, 0x6e]))] = 2
  await refuse(apRep, /its id is not that of an AP-REQ$/)
})

test('a copy of a token is refused, also with another option, until its time is too old', async t => {
  const { begin, token, clock } = await open(t)
  const client = token()
  const replay = /^replay: this authenticator was used before$/
  assert.equal((await finish(begin(), client)).kind, 'success')
  assert.match(whyOf(await begin().step(client.token)), replay)
  const optioned = Buffer.from(client.token)
  // The first byte of the options, which no key protects.
  const at = optioned.indexOf(Buffer.from('a20703050000000000', 'hex')) + 5
  optioned[at]! = 0x20
  assert.match(whyOf(await begin().step(optioned)), replay)
  await clock.advance(4 * MINUTE_MS)
  assert.match(whyOf(await begin().step(client.token)), replay)
  await clock.advance(2 * MINUTE_MS)
  assert.match(whyOf(await begin().step(client.token)), /^the client's clock differs by 360 s/)
})

test('a second client with the same name and time is no replay', async t => {
  const { begin, token } = await open(t)
  for (let times = 0; times < 3; times++) assert.equal((await finish(begin(), token())).kind, 'success')
})

test('the answer to the offer counts sealed, rotated and with a filler', async t => {
  const { begin, token } = await open(t)
  for (const { number } of ENCTYPES)
    for (const sealed of [false, true])
      for (const rotation of [0, 1, 28, 65_535]) {
        const client = token({ subkeyEnctype: number })
        const exchange = begin()
        await exchange.step(client.token)
        const filler = sealed ? 16 : 0
        const step = await exchange.step(makeWrap(client, choice('alice'), random, { sealed, rotation, filler }))
        assert.equal(step.kind, 'success')
      }
})

test('an answer to the offer that was changed, copied or counted wrongly is refused', async t => {
  const { begin, token } = await open(t)
  const answer = async (make: (client: ClientToken, offer: Buffer) => Buffer) => {
    const client = token()
    const exchange = begin()
    const offer = await exchange.step(client.token)
    assert(offer.kind === 'continue')
    const step = await exchange.step(make(client, Buffer.from(offer.token)))
    assert.equal((step as { claimed?: string }).claimed, 'alice@KETCH.TEST')
    return whyOf(step)
  }
  assert.match(await answer((_, offer) => offer), /^the Wrap token is the broker's own, sent back$/)
  assert.match(await answer(client => makeWrap(client, choice(), random, { flags: 4 })), /names a subkey/)
  const later = { sequence: 0x1234_5679 }
  assert.match(
    await answer(client => makeWrap(client, choice(), random, later)),
    /305419897, and 305419896 is expected$/,
  )
  assert.match(
    await answer(client => makeWrap(client, Buffer.from([1]), random)),
    /choice of a security layer is too short$/,
  )
  assert.match(await answer(() => Buffer.from('no token')), /a Wrap token of RFC 4121 is expected$/)
  const long = choice('a'.repeat(5000))
  assert.match(await answer(client => makeWrap(client, long, random)), /at most 4096 are taken$/)
  for (const sealed of [false, true])
    for (let at = 0; at < 32; at++) {
      // No key protects the count of rotated bytes: 64 more of them can be the same rotation.
      if (at === 6 || at === 7) continue
      const why = await answer(client => {
        const changed = makeWrap(client, choice(), random, { sealed })
        changed[at]! ^= 0x40
        return changed
      })
      assert.notEqual(why, '')
    }
})

test('a client that asks for integrity or confidentiality is told that only auth is supported', async t => {
  const { begin, token } = await open(t)
  for (const layer of [0, 2, 4, 3, 7]) {
    const step = await finish(begin(), token(), choice('', layer))
    assert(step.kind === 'failure')
    assert.equal(step.message, "Authentication failed: the broker supports only the quality of protection 'auth'")
    assert.match(step.why, new RegExp(`^the client chose the security layer ${layer}, and only 1`))
  }
})

test('a client may ask to act as itself, and as no other', async t => {
  const { begin, token } = await open(t)
  const client = 'alice/host@KETCH.TEST'
  for (const identity of ['', 'alice', 'alice/host', client])
    assert.equal((await finish(begin(), token({ client }), choice(identity))).kind, 'success')
  for (const identity of ['bob', 'alice@OTHER.TEST', 'Alice', 'alice\0', 'alice/other@KETCH.TEST'])
    assert.match(whyOf(await finish(begin(), token({ client }), choice(identity))), /^the client asks to act as '/)
})

test('changed tokens never throw, and never make a client out of changed encrypted parts', async t => {
  const { begin, token } = await open(t)
  const { token: real } = token({ flags: MUTUAL, subkeyEnctype: 20 })
  const original = readApReq(unframe(real))
  let accepted = 0
  for (let times = 0; times < 3_000; times++) {
    const changed = mutate(real, random)
    const step = await begin().step(changed)
    if (step.kind !== 'continue') continue
    accepted++
    const { ticket, authenticator } = readApReq(unframe(changed))
    assert.deepEqual(ticket.cipher, original.ticket.cipher)
    assert.deepEqual(authenticator.cipher, original.authenticator.cipher)
  }
  // A change that no key protects can be accepted once; then the cache knows the authenticator.
  assert(accepted <= 1)
})

test('no key, ticket or token is in the log, in a failure, or in what a debugger prints', async t => {
  const key = newKey()
  const { begin, token, mechanism, lines } = await open(t, { keys: [key] })
  const client = token({ client: 'alice@KETCH.TEST', checksum: null })
  const exchange = begin()
  const printed = `${inspect(await exchange.step(client.token), { depth: 9 })}${inspect([mechanism, exchange], { depth: 9 })}${lines.join('')}`
  for (const encoding of ['hex', 'base64', 'latin1'] as const)
    for (const secret of [key.bytes, client.token]) assert(!printed.includes(secret.toString(encoding)))
})

test('key versions: the newest, an older one, and a ticket that names none', async t => {
  const keys = [newKey(18, 7), newKey(18, 300), newKey(18, 6), newKey(17, 7)]
  const { begin, token } = await open(t, { keys })
  for (const serviceKey of keys) {
    const { kvno } = serviceKey
    assert.equal((await finish(begin(), token({ serviceKey, kvno }))).kind, 'success')
    assert.equal((await finish(begin(), token({ serviceKey, kvno: null }))).kind, 'success')
  }
  assert.match(whyOf(await begin().step(token({ kvno: 6 }).token)), /^the ticket was changed, or not encrypted with/)
})

test('a new key version counts as soon as it is in the keytab, and a removed one after five seconds', async t => {
  const [older, newer] = [newKey(18, 1), newKey(18, 2)]
  const { begin, token, path, clock, lines } = await open(t, { keys: [older] })
  const withNewer = () => token({ serviceKey: newer, kvno: 2 })
  assert.match(whyOf(await begin().step(withNewer().token)), /does not hold .* version 2$/)
  await writeFile(path, writeKeytab([older, newer]))
  assert.equal((await finish(begin(), withNewer())).kind, 'success')
  assert.equal(linesAbout(lines, 'read again').length, 1)
  await writeFile(path, writeKeytab([newer]))
  await clock.advance(5_000)
  assert.match(whyOf(await begin().step(token({ serviceKey: older, kvno: 1 }).token)), /does not hold .* version 1$/)
  assert.equal((await finish(begin(), withNewer())).kind, 'success')
})

test('a keytab that becomes unusable leaves the keys as they are, with one line in the log', async t => {
  const { begin, token, path, clock, lines } = await open(t)
  await writeFile(path, 'broken')
  for (let times = 0; times < 4; times++) {
    await clock.advance(5_000)
    assert.equal((await finish(begin(), token())).kind, 'success')
  }
  const errors = linesAbout(lines, ' ERROR ')
  assert.equal(errors.length, 1)
  assert.match(errors[0]!, /the broker keeps its Kerberos keys, because .*kafka.keytab is not a keytab/)
})

test('a missing key is looked for only in a keytab that has changed, and with many clients at once', async t => {
  const added = newKey(18, 9)
  const { begin, token, path, lines } = await open(t)
  const unknown = () => token({ serviceKey: added, kvno: 9 })
  for (const client of Array.from({ length: 50 }, unknown)) await begin().step(client.token)
  assert.deepEqual(linesAbout(lines, 'read again'), [])
  await writeFile(path, writeKeytab([added]))
  const steps = await Promise.all(Array.from({ length: 50 }, async () => await finish(begin(), unknown())))
  assert(steps.every(({ kind }) => kind === 'success'))
  assert.equal(linesAbout(lines, 'read again').length, 1)
})

test('a keytab that every user can read is named in a warning', async t => {
  const warnings = async (mode: number) => linesAbout((await open(t, { mode })).lines, ' WARN ')
  assert.match((await warnings(0o644))[0]!, /every user of this machine can read or change the keytab.*kafka.keytab/)
  assert.deepEqual(await warnings(0o640), [])
})

const KEYTAB = 'broker.sasl.gssapi.keytab-file'
const PRINCIPAL = 'broker.sasl.gssapi.principal'

const STARTS: readonly (readonly [options: OpenOptions, message: RegExp])[] = [
  [
    { settings: { [KEYTAB]: '/no/such.keytab' } },
    /^svc.broker.sasl.gssapi.keytab-file \(.*\): \/no\/such.keytab cannot be read: there is no such file$/,
  ],
  [{ settings: { [KEYTAB]: '/' } }, /keytab-file \(.*\): \/ is not a regular file$/],
  [{ keytab: Buffer.from('secret') }, /keytab-file .*kafka.keytab is not a keytab$/],
  [{ keytab: Buffer.from([5, 1]) }, /is a keytab of format 1; only format 2 is read$/],
  [{ keytab: writeKeytab([newKey()]).subarray(0, 40) }, /is cut off: an entry at byte 6 has \d+ bytes$/],
  [{ keytab: writeKeytab([]) }, /has no key of kafka\/broker.test@KETCH.TEST; it has no keys$/],
  [
    { keys: [newKey(18, 1, 'http/broker.test@KETCH.TEST')] },
    /has no key of .*; it has keys of http\/broker.test@KETCH.TEST$/,
  ],
  [
    { keys: [newKey(23)] },
    /has only keys of arcfour-hmac for kafka\/broker.test@KETCH.TEST; supported are aes256-cts-hmac-sha384-192, /,
  ],
  [{ keys: [{ ...newKey(18), bytes: Buffer.alloc(16) }] }, /has a key of aes256-cts-hmac-sha1-96 with 16 bytes$/],
  [
    { conf: '[libdefaults]\npermitted_enctypes = aes256-sha2 arcfour-hmac\n' },
    /has only keys of aes256-cts-hmac-sha1-96, and permitted_enctypes of krb5.conf allows none of them$/,
  ],
  [
    { settings: { [PRINCIPAL]: 'kafka@KETCH.TEST' } },
    /^svc.broker.sasl.gssapi.principal \(.*\): kafka@KETCH.TEST is not a principal of a service; takes kafka\/<host>@<REALM>$/,
  ],
  [{ settings: { [PRINCIPAL]: 'kafka//b@KETCH.TEST' } }, /is not a principal of a service/],
  [{ settings: { [PRINCIPAL]: 'kafka/b@A@B' } }, /is not a principal of a service/],
  [
    { settings: { [PRINCIPAL]: 'broker/broker.test@KETCH.TEST' } },
    /does not begin with 'kafka\/', as svc.broker.sasl.gssapi.service-name \(.*\): kafka demands$/,
  ],
  [
    { settings: { [PRINCIPAL]: 'kafka/broker.test' } },
    /has no realm, and .*krb5.conf has no default_realm; takes kafka\/<host>@<REALM>$/,
  ],
  [
    { conf: '[libdefaults\n' },
    /^GSSAPI in svc.broker.sasl.mechanisms needs a valid krb5.conf: .*krb5.conf, line 1: a section has no ']'$/,
  ],
]

test('a start with a wrong keytab, principal or krb5.conf ends with one sentence that names the setting', async t => {
  for (const [options, message] of STARTS)
    await assert.rejects(open(t, options), error => error instanceof SettingsError && message.test(error.message))
})

test('a principal without a realm is of the default realm of krb5.conf', async t => {
  const { begin, token } = await open(t, {
    conf: '[libdefaults]\n default_realm = KETCH.TEST\n',
    settings: { [PRINCIPAL]: 'kafka/broker.test' },
  })
  assert.equal((await finish(begin(), token())).kind, 'success')
})

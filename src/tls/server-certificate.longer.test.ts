import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { chmod, copyFile, readFile, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Certificate, makeAuthority, makeCertificate, noOpenssl } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { SettingsError, testSettings, type Values } from '../settings/settings.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { LOOK_MS, openServerCertificate } from './server-certificate.ts'

async function open(
  t: TestContext,
  { certificateFile, keyFile }: Certificate,
  more: Partial<Values> = {},
  startMs = Date.now(),
) {
  const simulated = new SimulatedClock(startMs)
  let planned = 0
  const clock: Clock = {
    now: () => simulated.now(),
    monotonic: () => simulated.monotonic(),
    soon: fn => simulated.soon(fn),
    timer(delayMs, fn) {
      planned++
      return simulated.timer(delayMs, fn)
    },
  }
  const lines: string[] = []
  const logger = createLogger({ clock, write: line => lines.push(line), format: 'plain', levels: new Map() })
  const metrics = createMetrics()
  const files = { 'server.tls': true, 'server.cert-file': certificateFile, 'server.key-file': keyFile }
  const found = (await openServerCertificate('server', {
    settings: testSettings({ ...files, ...more }),
    clock,
    logger,
    metrics,
  }))!
  t.after(() => found.close())
  const of = (level: string) => lines.filter(line => line.includes(` ${level} `))
  /** One look at the files, with its reading from the disk. */
  const look = async () => {
    const before = planned
    await simulated.advance(LOOK_MS)
    await eventually('the next look is planned', () => planned > before)
  }
  return { found, look, of, metrics, simulated }
}

/** The error message that ends the start. */
async function refusalOf(t: TestContext, certificate: Certificate, more: Partial<Values> = {}): Promise<string> {
  const error = await open(t, certificate, more).then(
    () => null,
    failure => failure,
  )
  assert.ok(error instanceof SettingsError, String(error))
  return error.message
}

async function encrypt({ keyFile }: Certificate, passphrase: string): Promise<string> {
  const key = createPrivateKey(await readFile(keyFile))
  const path = `${keyFile}.encrypted`
  await writeFile(path, key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }))
  return path
}

test('files that cannot be used end the start with one sentence that names the setting', {
  skip: noOpenssl,
}, async t => {
  const [good, other] = [await makeCertificate(t), await makeCertificate(t)]
  const keyFile = await encrypt(good, 'the right one')
  const text = join(keyFile, '..', 'text.pem')
  await writeFile(text, 'no PEM\n')
  const pem = await readFile(good.certificateFile, 'utf8')
  const der = join(keyFile, '..', 'certificate.der')
  await writeFile(der, new X509Certificate(pem).raw)
  const empty = join(keyFile, '..', 'empty.pem')
  await writeFile(empty, '')
  const broken = join(keyFile, '..', 'broken.pem')
  await writeFile(broken, '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n')
  const half = join(keyFile, '..', 'half.pem')
  await writeFile(half, pem + pem.slice(0, pem.length / 2))
  const cases: readonly (readonly [what: string, given: Partial<Certificate>, more: Partial<Values>, said: RegExp])[] =
    [
      [
        'no certificate',
        { certificateFile: '/nowhere' },
        {},
        /^svc\.server\.cert-file \(.*\/nowhere cannot be read: there is no such file$/,
      ],
      ['a folder', { certificateFile: tmpdir() }, {}, /^svc\.server\.cert-file .* is not a regular file$/],
      [
        'DER',
        { certificateFile: der },
        {},
        /^svc\.server\.cert-file .*\.der holds no PEM certificate, but binary data such as DER, PKCS#12 or JKS; openssl can convert it$/,
      ],
      [
        'the key',
        { certificateFile: good.keyFile },
        {},
        /^svc\.server\.cert-file .* holds no PEM certificate, but a private key$/,
      ],
      [
        'an empty file',
        { certificateFile: empty },
        {},
        /^svc\.server\.cert-file .* holds no PEM certificate, because it is empty$/,
      ],
      [
        'a chain that ends early',
        { certificateFile: half },
        {},
        /^svc\.server\.cert-file .*half\.pem cannot be used: bad end line$/,
      ],
      ['text', { certificateFile: text }, {}, /^svc\.server\.cert-file .*text\.pem holds no PEM certificate$/],
      ['a broken key', { keyFile: broken }, {}, /^svc\.server\.key-file .*holds no PEM private key that can be read$/],
      ['no key', { keyFile: '/nowhere' }, {}, /^svc\.server\.key-file .*\/nowhere cannot be read/],
      ['text as a key', { keyFile: text }, {}, /^svc\.server\.key-file .*text\.pem holds no PEM private key$/],
      [
        'the certificate as a key',
        { keyFile: good.certificateFile },
        {},
        /^svc\.server\.key-file .* holds no PEM private key, but a certificate$/,
      ],
      [
        "another's key",
        { keyFile: other.keyFile },
        {},
        /^svc\.server\.key-file .* is not the key of the certificate in .*\(svc\.server\.cert-file\)$/,
      ],
      [
        'no password',
        { keyFile },
        {},
        /^svc\.server\.key-file .* is encrypted, and svc\.server\.key-password is not set$/,
      ],
      [
        'a wrong password',
        { keyFile },
        { 'server.key-password': 'the wrong one' },
        /^svc\.server\.key-file .* does not open with svc\.server\.key-password$/,
      ],
    ]
  for (const [what, given, more, said] of cases) {
    const message = await refusalOf(t, { ...good, ...given }, more)
    assert.match(message, said, what)
    assert.doesNotMatch(message, /the (right|wrong) one|\n/, what)
  }
  const { found } = await open(t, { ...good, keyFile }, { 'server.key-password': 'the right one' })
  assert.match(found.state.subject, /CN=localhost/)
})

test('without TLS no file is read', async () => {
  const clock = new SimulatedClock()
  const logger = createLogger({ clock, write: () => {}, format: 'plain', levels: new Map() })
  const settings = testSettings({ 'server.cert-file': '/nowhere' })
  assert.equal(await openServerCertificate('server', { settings, clock, logger, metrics: createMetrics() }), null)
})

test('changed files replace the pair in use, even behind a link that is replaced', {
  skip: noOpenssl,
}, async t => {
  const [first, second] = [await makeCertificate(t), await makeCertificate(t, 'DNS:second')]
  const folder = await temporaryFolder(t, 'ketch-links-')
  const links = { certificateFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
  const pointTo = async (to: Certificate) => {
    for (const name of ['certificateFile', 'keyFile'] as const) {
      await unlink(links[name]).catch(() => {})
      await symlink(to[name], links[name])
    }
  }
  await pointTo(first)
  const { found, look, of } = await open(t, links)
  const taken: unknown[] = []
  found.watch(({ cert }) => taken.push(String(cert)))
  await look()
  assert.deepEqual(taken, [], 'nothing has changed')
  await pointTo(second)
  await look()
  assert.deepEqual(taken, [await readFile(second.certificateFile, 'utf8')])
  assert.equal(String(found.secureOptions.cert), taken[0])
  assert.equal(found.state.failure, null)
  assert.match(of('INFO').join(''), /the certificate was replaced/)
})

test('a certificate that is not valid at the time is a warning when it is taken into use', {
  skip: noOpenssl,
}, async t => {
  const [first, second] = [await makeCertificate(t), await makeCertificate(t)]
  assert.deepEqual((await open(t, first)).of('WARN'), [])
  const { look, of } = await open(t, first, {}, Date.now() + 3 * 24 * 3_600_000)
  assert.equal(of('WARN').length, 1)
  assert.match(
    of('WARN')[0]!,
    /clients refuse the certificate, because it is not valid at this time .*validTo=.* daysSinceItExpired=1\b/,
  )
  await copyFile(second.keyFile, first.keyFile)
  await copyFile(second.certificateFile, first.certificateFile)
  await look()
  assert.equal(of('WARN').length, 2)
})

test('a Kafka listener whose advertised host is not in the certificate is a warning', { skip: noOpenssl }, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t, 'DNS:*.kafka.example,IP:10.0.0.1')
  const lines: string[] = []
  const logger = createLogger({
    clock: systemClock,
    write: line => lines.push(line),
    format: 'plain',
    levels: new Map(),
  })
  const own = { name: 'FURTHER', host: null, port: 9093, advertisedPort: null, security: 'tls' } as const
  const warned = async (advertisedHost: string) => {
    lines.length = 0
    const settings = testSettings({
      'broker.cert-file': certificateFile,
      'broker.key-file': keyFile,
      'broker.listeners': [{ ...own, advertisedHost }],
    })
    const found = await openServerCertificate('broker', {
      settings,
      clock: systemClock,
      logger,
      metrics: createMetrics(),
    })
    found!.close()
    return lines.join('')
  }
  for (const named of ['a.kafka.example', 'B.kafka.example', '10.0.0.1']) assert.equal(await warned(named), '', named)
  for (const strange of ['localhost', 'a.b.kafka.example', '10.0.0.2'])
    assert.match(
      await warned(strange),
      /WARN .*is not for the advertised host .*listener=FURTHER .*setting=svc\.broker\.listeners\[0\]\.advertised-host .*names=/,
    )
})

test('a certificate that is not for servers is a warning', { skip: noOpenssl }, async t => {
  const authority = await makeAuthority(t)
  for (const [usage, warnings] of [
    ['clientAuth', 1],
    ['serverAuth', 0],
    ['clientAuth,serverAuth', 0],
    ['anyExtendedKeyUsage', 0],
  ] as const) {
    const { of } = await open(t, authority.issue({ usage }))
    assert.equal(of('WARN').length, warnings, usage)
    if (warnings > 0) assert.match(of('WARN')[0]!, /it is not for servers \(extended key usage\) .*subject="CN=alice"/)
  }
  assert.deepEqual((await open(t, await makeCertificate(t))).of('WARN'), [], 'it names no purpose')
})

test('a key that every user of the machine can read is a warning', { skip: noOpenssl }, async t => {
  const certificate = await makeCertificate(t)
  await chmod(certificate.keyFile, 0o640)
  assert.deepEqual((await open(t, certificate)).of('WARN'), [])
  await chmod(certificate.keyFile, 0o644)
  const { of } = await open(t, certificate)
  assert.equal(of('WARN').length, 1)
  assert.match(of('WARN')[0]!, /every user of this machine can read the private key.*keyFile=.*key\.pem/)
})

test('a metric counts the seconds until the certificate expires, below zero afterwards', {
  skip: noOpenssl,
}, async t => {
  const { metrics, simulated } = await open(t, await makeCertificate(t))
  const read = () => metrics.read('svc.tls.certificate_expiry_seconds', { port: 'server' })
  const twoDays = 2 * 24 * 3600
  assert.ok(read() > twoDays - 60 && read() <= twoDays, String(read()))
  await simulated.advance((twoDays + 60) * 1000)
  assert.ok(read() < 0, String(read()))
})

test('the pair of the Kafka port is read if any of its listeners uses TLS, and not without one', {
  skip: noOpenssl,
}, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const files = { 'broker.cert-file': certificateFile, 'broker.key-file': keyFile }
  const logger = createLogger({ clock: systemClock, write: () => {}, format: 'plain', levels: new Map() })
  const subjectOf = async (more: Partial<Values>) => {
    const settings = testSettings({ ...files, ...more })
    const rooms = { settings, clock: systemClock, logger, metrics: createMetrics() }
    const found = await openServerCertificate('broker', rooms)
    found?.close()
    return found?.state.subject
  }
  const own = { name: 'TLS', host: null, port: 0, advertisedHost: null, advertisedPort: null }
  assert.equal(await subjectOf({}), undefined)
  assert.equal(await subjectOf({ 'broker.tls': true }), 'CN=localhost')
  assert.equal(await subjectOf({ 'broker.listeners': [{ ...own, security: 'sasl-tls' }] }), 'CN=localhost')
  assert.equal(await subjectOf({ 'broker.listeners': [{ ...own, security: 'sasl-plaintext' }] }), undefined)
  assert.equal(await subjectOf({ 'broker.tls': true, 'broker.enabled': false }), undefined)
  const encrypted = await encrypt({ certificateFile, keyFile } as Certificate, 'the passphrase')
  const opened = { 'broker.tls': true, 'broker.key-file': encrypted, 'broker.key-password': 'the passphrase' }
  assert.equal(await subjectOf(opened), 'CN=localhost')
})

test('bad files leave the pair in use, with one ERROR line and a failure for health, until they are good', {
  skip: noOpenssl,
}, async t => {
  const [first, second] = [await makeCertificate(t), await makeCertificate(t)]
  const before = await readFile(first.certificateFile)
  const { found, look, of } = await open(t, first)
  // Tools write the certificate before its key. A read between the two logs nothing.
  await copyFile(second.certificateFile, first.certificateFile)
  await look()
  assert.deepEqual([of('ERROR'), found.state.failure], [[], null])
  for (let at = 0; at < 3; at++) await look()
  assert.equal(of('ERROR').length, 1)
  assert.match(of('ERROR')[0]!, /the broker keeps its certificate.*svc\.server\.key-file .* is not the key/)
  assert.match(found.state.failure!, /is not the key of the certificate/)
  assert.deepEqual(found.secureOptions.cert, before)
  await unlink(first.certificateFile)
  for (let at = 0; at < 3; at++) await look()
  assert.equal(of('ERROR').length, 2, 'another reason is another line')
  await copyFile(second.certificateFile, first.certificateFile)
  await copyFile(second.keyFile, first.keyFile)
  await look()
  assert.equal(found.state.failure, null)
  assert.deepEqual(found.secureOptions.cert, await readFile(second.certificateFile))
})

test('a new pair is in use only after those who must know it first', { skip: noOpenssl }, async t => {
  const [first, second] = [await makeCertificate(t), await makeCertificate(t)]
  const { found, look } = await open(t, first)
  const before = found.leaf.fingerprint256
  const asked = Promise.withResolvers<string>()
  const ready = Promise.withResolvers<void>()
  found.beforeUse(async ({ fingerprint256 }) => {
    asked.resolve(fingerprint256)
    await ready.promise
  })
  await copyFile(second.keyFile, first.keyFile)
  await copyFile(second.certificateFile, first.certificateFile)
  const looked = look()
  const { fingerprint256: after } = new X509Certificate(await readFile(second.certificateFile))
  assert.equal(await asked.promise, after)
  assert.equal(found.leaf.fingerprint256, before)
  ready.resolve()
  await looked
  assert.equal(found.leaf.fingerprint256, after)
})

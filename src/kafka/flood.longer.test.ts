// Tests that clients that never authenticate leave nothing behind, and keep no other client out. bench/security.ts
// measures the same at full size.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect as connectSocket } from 'node:net'
import { test } from 'node:test'
import { askHttp } from '../../testing/ask-http.ts'
import { startBroker } from '../../testing/broker.ts'
import { makeCertificate, noOpenssl } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { choose, connectFrom, logIn, type Mechanism } from '../../testing/log-in.ts'
import { SASL_AUTHENTICATION_FAILED } from '../protocol/errors.ts'
import { metadata } from '../protocol/messages/metadata.ts'

const COUNT = 200
const MECHANISMS: readonly Mechanism[] = ['SCRAM-SHA-256', 'PLAIN']
const PASSWORD = 'correct horse battery'
/** The first bytes of a ClientHello. */
const HALF_HELLO = Buffer.from('16030100c8010000c40303', 'hex')

test('half-open handshakes, half-open exchanges and failed logins are all closed, and others are served meanwhile', {
  skip: noOpenssl,
}, async t => {
  const { certificateFile, keyFile } = await makeCertificate(t)
  const settings = {
    'admin.security-enabled': false,
    'broker.tls': true,
    'broker.cert-file': certificateFile,
    'broker.key-file': keyFile,
    'broker.sasl.enabled': true,
    'broker.sasl.mechanisms': MECHANISMS,
    'broker.authentication-timeout': 8_000,
  }
  const { broker, port, url } = await startBroker(t, settings, { hasHttp: true })
  for (const mechanism of MECHANISMS) {
    const body = { username: mechanism, password: PASSWORD, mechanism, iterations: 4_096 }
    await askHttp(url)('/api/v1/credentials', 201, { body })
  }
  const sample = async (line: string) => {
    const found = (await broker.metrics.scrape()).split('\n').find(each => each.startsWith(`${line} `))
    return found === undefined ? 0 : Number(found.slice(line.length + 1))
  }
  const failures = (operation: string, errorType: string) =>
    sample(`svc_broker_failures_total{operation="${operation}",error_type="${errorType}"}`)
  const where = { port, tls: { ca: await readFile(certificateFile), servername: 'localhost' } }
  const join = async (at: number, password: string | null) => {
    const wire = await connectFrom(where, at)
    t.after(() => wire.close())
    const mechanism = MECHANISMS[at % 2]!
    return { wire, code: await logIn(wire, { mechanism, username: mechanism, password }) }
  }
  const all = <T>(open: (at: number) => Promise<T>) => Promise.all(Array.from({ length: COUNT }, (_, at) => open(at)))

  const halfTls = await all(async at => {
    const socket = connectSocket({ port, host: '127.0.0.1' })
    t.after(() => void socket.destroy())
    await once(socket, 'connect')
    if (at % 2 === 0) socket.write(HALF_HELLO)
    return { closed: once(socket, 'close') }
  })
  const halfSasl = await all(async at => {
    const wire = await connectFrom(where, at)
    t.after(() => wire.close())
    await choose(wire, MECHANISMS[at % 2]!)
    return { closed: wire.closed }
  })
  const failed = all(at => join(at, null))
  const good = await Promise.all(MECHANISMS.map((_, at) => join(at, PASSWORD)))
  for (const { wire, code } of good) {
    assert.equal(code, 0)
    await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  }
  for (const { wire, code } of await failed) {
    assert.equal(code, SASL_AUTHENTICATION_FAILED.code)
    await wire.closed
  }
  await Promise.all([...halfTls, ...halfSasl].map(({ closed }) => closed))
  for (const mechanism of MECHANISMS) assert.equal(await failures('auth', mechanism), COUNT / 2)
  assert.equal(await failures('connection', 'tls-handshake-timeout'), COUNT)
  assert.equal(await failures('connection', 'authentication-timeout'), COUNT)
  await eventually('only the good clients are connected', async () => (await sample('svc_broker_connections')) === 2)
  assert.equal(await sample('svc_broker_pending_bytes'), 0)
  for (const { wire } of good) await wire.send(metadata, 4, { topics: [{ name: 't' }] })
})

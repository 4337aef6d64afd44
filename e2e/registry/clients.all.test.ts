// Each client library of the registry reads what each of them wrote, in each format that both have, and so does
// `ketch tail --decode=registry`: at both base URLs, with HTTP Basic. KETCH_KEEP=1 writes the outcome to
// docs/compatibility; it needs KETCH_LONG=1. Without that a pair runs at one of the base URLs, which the seed draws.
// client-refusals.all.test.ts has the requests and the records that are refused.

import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { drawnBy } from '../../testing/at-length.ts'
import { makeAuthority, noOpenssl } from '../../testing/certificate.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { ketch } from '../../testing/run-ketch.ts'
import { seed } from '../../testing/seed.ts'
import { type Driver, type Library, LibraryRefused, type Place, startDriver } from './clients/driver.ts'
import { LIBRARIES } from './clients/libraries.ts'
import { FORMATS, type Format, ORDERS, type Order, schemaOf } from './clients/orders.ts'
import {
  ADA,
  ADMIN,
  BASES,
  type Base,
  type RegistryWorld,
  startSecuredWorld,
  startWorld,
  type User,
} from './clients/world.ts'

const TIMEOUT = { timeout: 360_000 }
const TAIL = 'ketch tail'
/** Each user signs in at one of the base URLs for the matrix, and at the other for the shorter tests. */
const USERS: Readonly<Record<Base, User>> = { 'the HTTP port': ADA, 'the own port': ADMIN }

const present = LIBRARIES.filter(library => library.absence() === null)
/** Each program serves all tests of this file. */
const drivers = present.map(library => startDriver({ after }, library))

for (const library of LIBRARIES) {
  const absence = library.absence()
  if (absence !== null) test(`${library.name} reads and writes with schemas`, { skip: absence }, () => {})
}

/** The records that a library writes and another cannot read, whatever the registry does. */
function gapOf(writer: string, format: Format, reader: string): RegExp | null {
  if (writer !== '@kafkajs/confluent-schema-registry' || format !== 'PROTOBUF' || reader === writer) return null
  // It writes Protobuf without message indexes (its issue 152). `ketch tail` takes the first message of the file.
  const errors: Readonly<Record<string, RegExp>> = {
    'confluent-kafka-python': /SerializationError.*message index 9 out of range/,
    '@confluentinc/schemaregistry': /SerializationError.*message indexes are absent or malformed/,
    'franz-go sr': /registration is missing/,
  }
  return errors[reader] ?? null
}

/** Protobuf's JSON leaves out a field that has its default. */
const NO_VALUES = { id: '0', total: 0, tags: [], lines: [], status: 'PLACED' }

/** Returns the orders as `ketch tail --decode=registry` shows them. */
async function tail(world: RegistryWorld, topic: string, format: Format): Promise<readonly (Order | null)[]> {
  const line = ['tail', topic, '--decode=registry', '--json', '--last=10', `--count=${ORDERS.length}`]
  const variables = { KETCH_PASSWORD: ADMIN.password }
  const { status, out, err } = await ketch([...line, `--url=${world.process.url}`], { variables })
  assert.equal(status, 0, err)
  return out
    .trimEnd()
    .split('\n')
    .map(each => {
      const { value } = JSON.parse(each)
      if (value === null) return null
      assert.equal(value.status, 'decoded', each)
      const { subject, version, type } = value.schema
      assert.deepEqual({ subject, version, type }, { subject: `${topic}-value`, version: 1, type: format })
      const order = { ...(format === 'PROTOBUF' && NO_VALUES), ...JSON.parse(value.text) }
      // Avro names the branch of a union.
      const note = order.note ?? null
      return { ...order, id: String(order.id), note: typeof note === 'object' ? (note?.string ?? null) : note }
    })
}

type Outcomes = Map<string, 'passed' | 'FAILED' | 'cannot'>

/** Every library writes, and every library reads, at this base URL. */
async function runMatrix(t: TestContext, world: RegistryWorld, base: Base, to: Outcomes) {
  const at: Place = { registry: world.registry(base, USERS[base]), kafka: world.kafka }
  for (const [number, writer] of drivers.entries()) {
    for (const format of writer.library.formats) {
      if (!drawnBy(number + FORMATS.indexOf(format) + seed, BASES.length, BASES).includes(base)) continue
      const topic = `orders-${BASES.indexOf(base)}-${number}-${format.toLowerCase()}`
      await world.makeTopic(topic)
      await t.test(`${writer.library.name} writes ${format} at ${base}`, TIMEOUT, () =>
        writer.produce(at, topic, schemaOf(format), ORDERS),
      )
      const cell = (reader: string, read: () => Promise<readonly (Order | null)[]>) =>
        t.test(`${reader} reads ${format} of ${writer.library.name} at ${base}`, TIMEOUT, async () => {
          const key = `${writer.library.name} ${format} ${reader}`
          const gap = gapOf(writer.library.name, format, reader)
          const before = to.get(key)
          to.set(key, 'FAILED')
          if (gap === null) assert.deepEqual(await read(), ORDERS)
          else await assert.rejects(read(), gap)
          if (before !== 'FAILED') to.set(key, gap === null ? 'passed' : 'cannot')
        })
      for (const reader of drivers)
        if (reader.library.formats.includes(format))
          await cell(reader.library.name, () => reader.consume(at, topic, schemaOf(format), ORDERS.length))
      await cell(TAIL, () => tail(world, topic, format))
    }
  }
}

test('every library reads what every library wrote, at the base URLs', { timeout: 600_000 }, async t => {
  if (present.length === 0) return t.skip('SKIPPED e2e/registry/clients: no library is installed')
  const world = await startSecuredWorld(t)
  const outcomes: Outcomes = new Map()
  for (const base of BASES) await runMatrix(t, world, base, outcomes)

  for (const base of BASES) {
    const user = USERS[base] === ADA ? ADMIN : ADA
    await t.test(`every library writes and reads as ${user.username} at ${base}`, TIMEOUT, async () => {
      for (const driver of drivers) await writeAndRead(driver, world, base, user)
    })
  }
  if (process.env.KETCH_KEEP === '1') keep(outcomes)
})

/** Writes and reads with a library of its own, in the first of its formats. */
async function writeAndRead(driver: Driver, world: RegistryWorld, base: Base, user?: User, ca?: string) {
  const [format] = driver.library.formats as [Format]
  const topic = `orders-${driver.library.name.replaceAll(/\W+/g, '-')}-${BASES.indexOf(base)}`
  await world.makeTopic(topic)
  const registry = { ...world.registry(base, user), ...(ca !== undefined && { ca }) }
  const at = { registry, kafka: world.kafka }
  await driver.produce(at, topic, schemaOf(format), ORDERS)
  assert.deepEqual(await driver.consume(at, topic, schemaOf(format), ORDERS.length), ORDERS, driver.library.name)
}

test('without SASL every library writes and reads without a password, at both base URLs', TIMEOUT, async t => {
  const world = await startWorld(t)
  for (const driver of drivers) {
    for (const base of BASES) await writeAndRead(driver, world, base)
  }
})

test('a program reads with the client of the registry with which it wrote', TIMEOUT, async t => {
  const world = await startWorld(t)
  const at = { registry: world.registry('the own port'), kafka: world.kafka, isShared: true } as const
  for (const [number, library] of present.entries()) {
    // New programs: one that has asked another registry before was seen to ask that one again.
    const driver = startDriver(t, library)
    for (const format of library.formats) {
      const topic = `orders-${number}-${format}`
      await world.makeTopic(topic)
      await driver.produce(at, topic, schemaOf(format), ORDERS)
      const read = await driver.consume(at, topic, schemaOf(format), ORDERS.length)
      assert.deepEqual(read, ORDERS, `${library.name} ${format}`)
    }
  }
})

test('every library writes and reads over TLS, at both base URLs', { ...TIMEOUT, skip: noOpenssl }, async t => {
  const authority = await makeAuthority(t)
  const { certificateFile, keyFile } = authority.issue({ subject: '/CN=localhost', usage: 'serverAuth' })
  const tls = { 'svc.server.tls': 'true', 'svc.server.cert-file': certificateFile, 'svc.server.key-file': keyFile }
  const world = await startWorld(t, { ...tls, 'svc.schema-registry.authentication': 'basic' })
  for (const driver of drivers) {
    for (const base of BASES) await writeAndRead(driver, world, base, ADMIN, authority.certificateFile)
    // Without the authority it does not trust the broker, and sends no password.
    const untrusted = driver.register(world.registry('the own port', ADMIN), 'orders-x-value', schemaOf('AVRO'))
    await assert.rejects(untrusted, LibraryRefused, driver.library.name)
  }
})

function keep(outcomes: Outcomes): void {
  const counted = [...outcomes.values()].filter(outcome => outcome !== 'cannot')
  const passed = counted.filter(outcome => outcome === 'passed').length
  const cell = (writer: Library, reader: Library | null) =>
    FORMATS.flatMap(format => {
      const outcome = outcomes.get(`${writer.name} ${format} ${reader?.name ?? TAIL}`)
      return outcome === undefined ? [] : [`${format} ${outcome}`]
    }).join('<br>')
  keepFindings('registry-clients', {
    title: 'Clients of the schema registry',
    order: 2,
    command: 'KETCH_KEEP=1 KETCH_LONG=1 node --test e2e/registry/clients.all.test.ts',
    text: [
      `Every library writes ${ORDERS.length} records in each of its formats and registers the schema; every library, and \`ketch tail --decode=registry\`, reads them and compares each member. Each pair runs at \`/schema-registry\` of the HTTP port, signed in as a Kafka client with rules for its topics, and at \`svc.schema-registry.port\`, signed in as an ADMIN. ${passed} of ${counted.length} pairs passed at both.`,
      '*cannot*: @kafkajs/confluent-schema-registry writes Protobuf without the message indexes that the other libraries need ([issue 152](https://github.com/kafkajs/confluent-schema-registry/issues/152) of that library). Ketch reads such records as the first message of the file.',
    ],
    tables: [
      {
        caption: null,
        head: ['written by', 'version', 'source', ...present.map(({ name }) => `read by ${name}`), `read by ${TAIL}`],
        rows: present.map(writer => [
          writer.name,
          writer.version,
          writer.from,
          ...[...present, null].map(reader => cell(writer, reader)),
        ]),
      },
    ],
  })
}

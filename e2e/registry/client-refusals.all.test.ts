// Each client library of the registry reports a refusal by its own exception: a schema that is not compatible, a wrong
// password, a subject without a rule, and records that the broker does not accept.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Driver, LibraryRefused, startDriver } from './clients/driver.ts'
import { LIBRARIES } from './clients/libraries.ts'
import { FORMATS, type Format, incompatible, ORDERS, type OrderSchema, schemaOf } from './clients/orders.ts'
import { ADA, BASES, type RegistryWorld, startSecuredWorld } from './clients/world.ts'

const TIMEOUT = { timeout: 180_000 }

/** The exceptions of the libraries for an answer of the registry. That of kafkajs has no error code. */
const OF_REGISTRY: Readonly<Record<string, { readonly type: string; readonly hasCode: boolean }>> = {
  'confluent-kafka-python': { type: 'SchemaRegistryError', hasCode: true },
  '@confluentinc/schemaregistry': { type: 'RestError', hasCode: true },
  '@kafkajs/confluent-schema-registry': { type: 'ResponseError', hasCode: false },
  'franz-go sr': { type: 'sr.ResponseError', hasCode: true },
  'Confluent for Java': { type: 'RestClientException', hasCode: true },
}

/** The exceptions of the Kafka clients for a record that was refused. Only Java's has the broker's message. */
const OF_KAFKA: Readonly<Record<string, { readonly type: string; readonly message: RegExp; readonly code?: number }>> =
  {
    'confluent-kafka-python': { type: 'KafkaException', message: /INVALID_RECORD/, code: 87 },
    '@confluentinc/schemaregistry': { type: 'KafkaJSProtocolError', message: /failed to validate record/, code: 87 },
    '@kafkajs/confluent-schema-registry': { type: 'KafkaJSProtocolError', message: /failed the validation/, code: 87 },
    'franz-go sr': { type: 'kerr.Error', message: /INVALID_RECORD/, code: 87 },
    'Confluent for Java': { type: 'InvalidRecordException', message: /^The value breaks the rule [a-z-]+: ./ },
  }

const present = LIBRARIES.filter(library => library.absence() === null)
/** Each program serves all tests of this file. */
const drivers = present.map(library => startDriver({ after }, library))
const skip = present.length === 0 ? 'SKIPPED e2e/registry/clients: no library is installed' : false

async function refusalOf(asked: Promise<unknown>): Promise<LibraryRefused['error']> {
  const refused = await asked.then(
    () => assert.fail('it was not refused'),
    error => error,
  )
  if (!(refused instanceof LibraryRefused)) throw refused
  return refused.error
}

/** Asserts that the library throws its exception for this answer of the registry. */
async function assertRefused(
  { library }: Driver,
  asked: Promise<unknown>,
  answer: { readonly status: number; readonly code: number; readonly message: RegExp },
): Promise<void> {
  const { type, status, code, message } = await refusalOf(asked)
  const expected = OF_REGISTRY[library.name]!
  assert.deepEqual(
    { type, status, code },
    {
      type: expected.type,
      status: answer.status,
      code: expected.hasCode ? answer.code : undefined,
    },
  )
  assert.match(message, answer.message)
}

test('a schema that is not compatible is refused with a reason and a path', { ...TIMEOUT, skip }, async t => {
  const world = await startSecuredWorld(t)
  const reasons: Readonly<Record<Format, RegExp>> = {
    AVRO: /incompatible.*TYPE_MISMATCH.*\/fields\/0\/type/s,
    JSON: /incompatible.*TYPE_CHANGED.*#\/properties\/id/s,
    PROTOBUF: /incompatible.*FIELD_SCALAR_KIND_CHANGED.*#\/Order\/1/s,
  }
  for (const driver of drivers) {
    for (const [at, format] of driver.library.formats.entries()) {
      const registry = world.registry(BASES[at % BASES.length]!, ADA)
      const register = (schema: OrderSchema) => driver.register(registry, `orders-${format}-value`, schema)
      const id = await register(schemaOf(format))
      const message = reasons[format]
      await assertRefused(driver, register(incompatible(format)), { status: 409, code: 409, message })
      // The first schema is there as before. One content has one id for all clients.
      assert.equal(await register(schemaOf(format)), id, `${driver.library.name} ${format}`)
    }
  }
})

test('a wrong password and a subject without a rule are refused', { ...TIMEOUT, skip }, async t => {
  // Each library fails to sign in once.
  const world = await startSecuredWorld(t, { 'svc.admin.login-throttle.max-failures': '100' })
  for (const driver of drivers) {
    for (const base of BASES) {
      const registry = world.registry(base, ADA)
      const wrong = driver.register({ ...registry, password: 'wrong' }, 'orders-value', schemaOf('AVRO'))
      await assertRefused(driver, wrong, { status: 401, code: 401, message: /password/i })
      const unnamed = driver.register(registry, 'payments-value', schemaOf('AVRO'))
      // kafkajs reads the level first, and the others register at once.
      const message = /User:ada needs (READ or )?WRITE on the topic "payments"/
      await assertRefused(driver, unnamed, { status: 403, code: 40301, message })
    }
  }
})

/** Payloads that no library would write: without a schema id, and cut short. */
async function badPayloads(world: RegistryWorld, subject: string): Promise<readonly Buffer[]> {
  const { url, username, password } = world.registry('the HTTP port', ADA)
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  const { id } = (await (
    await fetch(`${url}/subjects/${subject}/versions/latest`, { headers: { authorization } })
  ).json()) as { id: number }
  const prefix = Buffer.alloc(5)
  prefix.writeInt32BE(id, 1)
  return [Buffer.from('hello'), Buffer.concat([prefix, Buffer.from([0x0a, 0xff])])]
}

test('a record that is not valid is refused by its client, and the topic keeps only valid ones', {
  ...TIMEOUT,
  skip,
}, async t => {
  const world = await startSecuredWorld(t)
  const at = { registry: world.registry('the own port', ADA), kafka: world.kafka }
  for (const format of FORMATS) {
    const topic = `orders-${format}`
    const writer = drivers.find(({ library }) => library.formats.includes(format))!
    await world.makeTopic(topic)
    await writer.produce(at, topic, schemaOf(format), ORDERS)
    for (const payload of await badPayloads(world, `${topic}-value`)) {
      for (const driver of drivers) {
        const { type, message, code } = await refusalOf(driver.send(world.kafka, topic, [payload]))
        const expected = OF_KAFKA[driver.library.name]!
        assert.deepEqual({ type, code }, { type: expected.type, code: expected.code }, driver.library.name)
        assert.match(message, expected.message)
      }
    }
    await writer.produce(at, topic, schemaOf(format), ORDERS)
    assert.deepEqual(await writer.consume(at, topic, schemaOf(format), 2 * ORDERS.length), [...ORDERS, ...ORDERS])
  }
})

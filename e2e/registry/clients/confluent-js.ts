// @confluentinc/schemaregistry for driver.ts, which describes the requests. Its records travel through
// @confluentinc/kafka-javascript, which build.ts of e2e/confluent-js compiles.
//
//   confluent-js.ts REGISTRY_FOLDER KAFKA_FOLDER

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Kafka, LibraryError, Registry } from './driver.ts'
import type { Order, OrderSchema } from './orders.ts'
import { answerRequests } from './requests.ts'

const [registryFolder, kafkaFolder] = process.argv.slice(2) as [string, string]
const fromRegistry = createRequire(join(registryFolder, 'package.json'))
const {
  SchemaRegistryClient,
  SerdeType,
  AvroSerializer,
  AvroDeserializer,
  JsonSerializer,
  JsonDeserializer,
  ProtobufSerializer,
  ProtobufDeserializer,
} = fromRegistry('@confluentinc/schemaregistry')
const protobuf = fromRegistry('@bufbuild/protobuf')
const { FileDescriptorProtoSchema } = fromRegistry('@bufbuild/protobuf/wkt')
const { KafkaJS } = createRequire(join(kafkaFolder, 'package.json'))('@confluentinc/kafka-javascript')

interface Request {
  readonly registry: Registry
  readonly isShared?: boolean
  readonly kafka: Kafka
  readonly topic: string
  readonly subject: string
  readonly schema: OrderSchema
  readonly orders: readonly (Order | null)[]
  readonly values: readonly string[]
  readonly group: string
  readonly count: number
}

const shared = new Map<string, object>()

function openRegistry(request: Request) {
  if (request.isShared !== true) return newRegistry(request)
  const { url, username } = request.registry
  const key = `${username}@${url}`
  if (!shared.has(key)) shared.set(key, newRegistry(request))
  // biome-ignore lint/suspicious/noExplicitAny: the library is loaded without its types
  return shared.get(key) as any
}

function newRegistry({ registry: { url, username, password, ca } }: Request) {
  return new SchemaRegistryClient({
    baseURLs: [url],
    maxRetries: 0,
    ...(username !== undefined && {
      basicAuthCredentials: { credentialsSource: 'USER_INFO', userInfo: `${username}:${password}` },
    }),
    ...(ca !== undefined && {
      createAxiosDefaults: { httpsAgent: new (fromRegistry('node:https').Agent)({ ca: readFileSync(ca) }) },
    }),
  })
}

const silent = { info() {}, error() {}, warn() {}, debug() {}, namespace: () => silent, setLogLevel() {} }

const openKafka = ({ kafka: { address, username, password } }: Request) =>
  new KafkaJS.Kafka({
    kafkaJS: {
      brokers: [address],
      logger: silent,
      ...(username !== undefined && { sasl: { mechanism: 'scram-sha-256', username, password } }),
    },
  })

/** The messages of Protobuf. A user has code that protoc made of the file; here it comes from the descriptor. */
function messages(schema: OrderSchema) {
  const file = protobuf.fromJson(FileDescriptorProtoSchema, JSON.parse(schema.descriptor))
  const registry = protobuf.createFileRegistry(file, () => undefined)
  return {
    registry: protobuf.createRegistry(registry.getMessage('com.acme.Order')),
    of: registry.getMessage('com.acme.Order'),
  }
}

const register = { autoRegisterSchemas: true }
const withNumber = (order: Order) => ({ ...order, id: Number(order.id) })
const withDigits = (order: object & { id: number }) => ({ ...order, id: String(order.id) })

/** Returns the serializer: of an order to bytes. */
async function serializer(request: Request): Promise<(order: Order) => Promise<Buffer>> {
  const { schema, topic } = request
  const client = openRegistry(request)
  if (schema.format === 'PROTOBUF') {
    const { registry, of } = messages(schema)
    const to = new ProtobufSerializer(client, SerdeType.VALUE, register, undefined)
    for (const type of registry) to.registry.add(type)
    return order => {
      const { note, ...rest } = order
      return to.serialize(topic, protobuf.fromJson(of, note === null ? rest : order))
    }
  }
  // The serializers of Avro and JSON take the schema from the registry.
  const schemaType = schema.format
  await client.register(`${topic}-value`, { schema: schema.text, schemaType }, false)
  const conf = { autoRegisterSchemas: false, useLatestVersion: true }
  const to =
    schemaType === 'AVRO'
      ? new AvroSerializer(client, SerdeType.VALUE, conf)
      : new JsonSerializer(client, SerdeType.VALUE, conf)
  return order => to.serialize(topic, withNumber(order))
}

function deserializer(request: Request): (bytes: Buffer) => Promise<Order> {
  const { schema, topic } = request
  const client = openRegistry(request)
  if (schema.format === 'PROTOBUF') {
    const { of } = messages(schema)
    const from = new ProtobufDeserializer(client, SerdeType.VALUE, {})
    // The message is of a type that the registry's descriptor names.
    return async bytes => {
      const message = await from.deserialize(topic, bytes)
      return { note: null, ...protobuf.toJson(of, message, { alwaysEmitImplicit: true }) }
    }
  }
  const from = new (schema.format === 'AVRO' ? AvroDeserializer : JsonDeserializer)(client, SerdeType.VALUE, {})
  return async bytes => withDigits({ ...(await from.deserialize(topic, bytes)) }) as unknown as Order
}

async function send(request: Request, values: readonly (Buffer | null)[]): Promise<void> {
  const producer = openKafka(request).producer({ acks: -1, 'linger.ms': 0 })
  await producer.connect()
  try {
    await producer.send({
      topic: request.topic,
      messages: values.map((value, index) => ({ key: String(index), value, partition: 0 })),
    })
  } finally {
    await producer.disconnect()
  }
}

async function read(request: Request): Promise<readonly (Buffer | null)[]> {
  const consumer = openKafka(request).consumer({
    kafkaJS: { groupId: request.group, fromBeginning: true },
    'heartbeat.interval.ms': 500,
    'fetch.wait.max.ms': 20,
  })
  const values: (Buffer | null)[] = []
  const enough = Promise.withResolvers<void>()
  await consumer.connect()
  try {
    await consumer.subscribe({ topic: request.topic })
    await consumer.run({
      eachMessage: async ({ message }: { message: { value: Buffer | null } }) => {
        values.push(message.value)
        if (values.length >= request.count) enough.resolve()
      },
    })
    await enough.promise
  } finally {
    await consumer.disconnect()
  }
  return values
}

const verbs = {
  async produce(request: Request) {
    const toBytes = await serializer(request)
    await send(request, await Promise.all(request.orders.map(async order => (order === null ? null : toBytes(order)))))
  },
  async consume(request: Request) {
    const ofBytes = deserializer(request)
    return Promise.all((await read(request)).map(async value => (value === null ? null : ofBytes(value))))
  },
  register: (request: Request) =>
    openRegistry(request).register(request.subject, { schema: request.schema.text, schemaType: request.schema.format }),
  send: (request: Request) =>
    send(
      request,
      request.values.map(value => Buffer.from(value, 'base64')),
    ),
}

function errorOf(cause: Error): LibraryError {
  const { status, errorCode, code, type } = cause as unknown as Record<string, never>
  return {
    type: cause.constructor.name,
    message: cause.message,
    ...(status !== undefined && { status }),
    ...((errorCode ?? code) !== undefined && { code: errorCode ?? code }),
    ...(type !== undefined && { name: type }),
  }
}

await answerRequests(verbs, errorOf)
process.exit(0)

// @kafkajs/confluent-schema-registry with kafkajs for driver.ts, which describes the requests.
//
//   kafkajs.ts REGISTRY_FOLDER

import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Kafka as KafkaJs, logLevel, Partitioners } from 'kafkajs'
import type { Kafka, LibraryError, Registry } from './driver.ts'
import type { Order, OrderSchema } from './orders.ts'
import { answerRequests } from './requests.ts'

const [folder] = process.argv.slice(2) as [string]
const { SchemaRegistry } = createRequire(join(folder, 'package.json'))('@kafkajs/confluent-schema-registry')

interface Request {
  readonly registry: Registry
  readonly kafka: Kafka
  readonly topic: string
  readonly subject: string
  readonly schema: OrderSchema
  readonly orders: readonly (Order | null)[]
  readonly values: readonly string[]
  readonly group: string
  readonly count: number
}

function openRegistry({ registry: { url, username, password, ca } }: Request) {
  return new SchemaRegistry({
    host: url,
    retry: { retries: 0 },
    ...(username !== undefined && { auth: { username, password } }),
    ...(ca !== undefined && { agent: new Agent({ ca: readFileSync(ca) }) }),
  })
}

const openKafka = ({ kafka: { address, username, password } }: Request) =>
  new KafkaJs({
    brokers: [address],
    logLevel: logLevel.NOTHING,
    ...(username !== undefined && { sasl: { mechanism: 'scram-sha-256', username, password: password! } }),
  })

const registerAs = (registry: { register(schema: object, to: object): Promise<{ id: number }> }) => {
  return async ({ format, text }: OrderSchema, subject: string) =>
    (await registry.register({ type: format, schema: text }, { subject })).id
}

/** Returns the payload that the library takes for an order: Protobuf has numbers for enums, and no null. */
function payloadOf(order: Order, { format }: OrderSchema): object {
  const { note, ...rest } = { ...order, id: Number(order.id) }
  if (format !== 'PROTOBUF') return { note, ...rest }
  return { ...rest, status: ['PLACED', 'SENT'].indexOf(order.status), ...(note !== null && { note }) }
}

/** Returns the order of a decoded value. A message of Protobuf is shown with its defaults. */
function orderOf(decoded: object, { format }: OrderSchema): Order {
  if (format !== 'PROTOBUF') return { ...decoded, id: String((decoded as { id: number }).id) } as Order
  const type = (decoded as { $type: { toObject(message: object, how: object): object } }).$type
  const shown = type.toObject(decoded, { longs: String, enums: String, defaults: true })
  // The defaults of a field with presence are no value.
  return { ...shown, note: Object.hasOwn(decoded, 'note') ? (decoded as { note: string }).note : null } as Order
}

async function send(request: Request, values: readonly (Buffer | null)[]): Promise<void> {
  const producer = openKafka(request).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { retries: 0 },
  })
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
  const consumer = openKafka(request).consumer({ groupId: request.group, heartbeatInterval: 500 })
  const values: (Buffer | null)[] = []
  const enough = Promise.withResolvers<void>()
  // Without this a batch that it cannot read is waited for without end.
  consumer.on(consumer.events.CRASH, ({ payload }) => enough.reject(payload.error))
  await consumer.connect()
  try {
    await consumer.subscribe({ topic: request.topic, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message }) => {
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
    const registry = openRegistry(request)
    const id = await registerAs(registry)(request.schema, `${request.topic}-value`)
    const values = request.orders.map(order => order && registry.encode(id, payloadOf(order, request.schema)))
    await send(request, await Promise.all(values))
  },
  async consume(request: Request) {
    const registry = openRegistry(request)
    const values = (await read(request)).map(
      async value => value && orderOf(await registry.decode(value), request.schema),
    )
    return Promise.all(values)
  },
  register: (request: Request) => registerAs(openRegistry(request))(request.schema, request.subject),
  send: (request: Request) =>
    send(
      request,
      request.values.map(value => Buffer.from(value, 'base64')),
    ),
}

function errorOf(cause: Error): LibraryError {
  const { status, code, type } = cause as unknown as Record<string, never>
  return {
    type: cause.name,
    message: cause.message,
    ...(status !== undefined && { status }),
    ...(code !== undefined && { code }),
    ...(type !== undefined && { name: type }),
  }
}

await answerRequests(verbs, errorOf)

// Fills the schema registry of a broker: subjects of each type, with references, deleted versions, levels and modes of
// their own, and a topic whose records a subject judges. A record of it was refused.

import { must, type World } from './world.ts'

/** The topic whose values are judged. */
export const JUDGED_TOPIC = 'payments'
/** The longest name that a topic of the seeds has, as the beginning of a subject. */
const LONG = 'a-rather-long-name-of-a-subject.'.repeat(7)

/** The names of what is there. */
export const SUBJECTS = Object.freeze({
  /** Avro, three versions, of which the second one is deleted. It refers to `money`, and has a level of its own. */
  main: `${JUDGED_TOPIC}-value`,
  money: 'shop.Money',
  /** Protobuf, with an import. */
  proto: 'visits-value',
  imported: 'shop/place.proto',
  /** JSON Schema, in the mode READONLY. */
  json: 'profiles-value',
  /** All its versions are deleted. */
  deleted: 'outdated-value',
  /** No version, but a level of its own. */
  bare: 'planned-value',
  long: `${LONG}-value`,
})

const PATH = '/api/v1/schemas'
const pathOf = (subject: string) => `${PATH}/subjects/${encodeURIComponent(subject)}`

const MONEY = {
  type: 'record',
  name: 'Money',
  namespace: 'shop',
  doc: 'An amount in the smallest unit of its currency.',
  fields: [
    { name: 'amount', type: 'long' },
    { name: 'currency', type: { type: 'enum', name: 'Currency', symbols: ['EUR', 'USD', 'JPY'] } },
  ],
}

/** A payment with as many of the later fields as the version has. */
export const payment = (version: number) => ({
  type: 'record',
  name: 'Payment',
  namespace: 'shop',
  fields: [
    { name: 'id', type: 'string' },
    { name: 'total', type: 'shop.Money' },
    ...(version >= 2 ? [{ name: 'note', type: ['null', 'string'], default: null }] : []),
    ...(version >= 3 ? [{ name: 'items', type: { type: 'array', items: 'string' }, default: [] }] : []),
  ],
})

export const MONEY_REFERENCE = { name: 'shop.Money', subject: SUBJECTS.money, version: 1 }

const PLACE = `syntax = "proto3";
package shop;

message Place {
  double latitude = 1;
  double longitude = 2;
}
`
const CLICK = (fields: string) => `syntax = "proto3";
package shop;

import "shop/place.proto";

message Click {
  string id = 1;
  Place place = 2;
${fields}}
`

const PROFILE = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Profile',
  type: 'object',
  properties: { name: { type: 'string' }, born: { type: 'integer', minimum: 1900 } },
  required: ['name'],
}

/** Fills the registry. The names are those of SUBJECTS. */
export async function seedSchemas({ admin }: Pick<World, 'admin'>): Promise<void> {
  const register = (subject: string, schema: unknown, more: object = {}) =>
    must(admin, 'POST', `${pathOf(subject)}/versions`, {
      schema: typeof schema === 'string' ? schema : JSON.stringify(schema),
      ...more,
    })
  await must(admin, 'POST', '/api/v1/topics', { name: JUDGED_TOPIC, partitions: 1 })
  await register(SUBJECTS.money, MONEY)
  for (const version of [1, 2, 3]) await register(SUBJECTS.main, payment(version), { references: [MONEY_REFERENCE] })
  await must(admin, 'DELETE', `${pathOf(SUBJECTS.main)}/versions/2`)
  await must(admin, 'PUT', `${pathOf(SUBJECTS.main)}/level`, { level: 'FULL_TRANSITIVE' })
  // A mode of its own, which is the usual one: it can be reset.
  await must(admin, 'PUT', `${pathOf(SUBJECTS.main)}/mode`, { mode: 'READWRITE' })

  const reference = { name: 'shop/place.proto', subject: SUBJECTS.imported, version: 1 }
  await register(SUBJECTS.imported, PLACE, { type: 'PROTOBUF' })
  for (const fields of ['', '  repeated string tags = 3;\n'])
    await register(SUBJECTS.proto, CLICK(fields), { type: 'PROTOBUF', references: [reference] })

  await register(SUBJECTS.json, PROFILE, { type: 'JSON' })
  await must(admin, 'PUT', `${pathOf(SUBJECTS.json)}/mode`, { mode: 'READONLY' })
  await register(SUBJECTS.deleted, '"string"')
  await must(admin, 'DELETE', pathOf(SUBJECTS.deleted))
  await must(admin, 'PUT', `${pathOf(SUBJECTS.bare)}/level`, { level: 'NONE' })
  await register(SUBJECTS.long, '"long"')
  await must(admin, 'PUT', `${PATH}/level`, { level: 'BACKWARD_TRANSITIVE' })
  await must(admin, 'PUT', `${PATH}/mode`, { mode: 'READWRITE' })

  // Whether the judge refuses it or not, the page shows the topic.
  const messages = [{ value: { text: 'no payment' } }]
  await admin.ask('POST', `/api/v1/topics/${JUDGED_TOPIC}/messages`, { messages })
}

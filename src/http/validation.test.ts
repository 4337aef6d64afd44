import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { newAclShape } from '../api/acls.ts'
import { newCredentialShape } from '../api/credentials.ts'
import { newMessagesShape } from '../api/messages.ts'
import { newTopicShape, topicListQuery } from '../api/topics.ts'
import { newUserShape } from '../api/users.ts'
import { strictly } from './openapi.ts'
import { type InvalidFields, type RequestPart, validate } from './validation.ts'

function fieldsOf(shape: z.ZodType, value: unknown, whole: RequestPart = 'body'): Readonly<Record<string, string>> {
  const checked = validate(strictly(shape), value, whole)
  assert.ok('error' in checked, 'the value was taken')
  return (checked.error as InvalidFields).fields
}

const USER = { username: 'ada', password: 'correct horse' }

test('a problem of a field names the value that came and the values that the field takes', () => {
  assert.deepEqual(fieldsOf(newUserShape, { password: 7, role: 'ROOT' }), {
    username: 'is missing; takes a text',
    password: 'got a number, takes a text',
    role: 'got "ROOT", takes ADMIN or VIEWER',
  })
  assert.deepEqual(fieldsOf(newTopicShape, { name: ['a'], partitions: 0, configs: { 'retention.ms': 5 } }), {
    name: 'got a list, takes a text',
    partitions: 'got 0, takes a number of at least 1',
    'configs.retention.ms': 'got 5, takes a text',
  })
  assert.deepEqual(fieldsOf(newTopicShape, { name: null, partitions: 1.5, validateOnly: 'yes' }), {
    name: 'got null, takes a text',
    partitions: 'got 1.5, takes a whole number',
    validateOnly: 'got "yes", takes true or false',
  })
  assert.deepEqual(fieldsOf(topicListQuery, { limit: 'many', order: ['asc', 'desc'] }, 'query'), {
    limit: 'got "many", takes an integer from 1 to 1000',
    order: 'got a list, takes asc or desc',
  })
})

test('a problem of a whole part has the name of the part', () => {
  assert.deepEqual(fieldsOf(newUserShape, undefined), { body: 'is missing; takes an object' })
  assert.deepEqual(fieldsOf(newUserShape, []), { body: 'got a list, takes an object' })
})

test('lists and texts that are too short or too long are counted in entries and characters', () => {
  assert.deepEqual(fieldsOf(newMessagesShape, { messages: [] }), { messages: 'got a list, takes at least 1 entry' })
  const username = 'x'.repeat(1_025)
  const { username: why } = fieldsOf(newCredentialShape, { ...USER, username })
  assert.match(why!, /^got "x{100}…", takes at most 1024 characters$/)
})

test('a field that lies deeper is named by its path', () => {
  const messages = [{ value: { text: 'good' } }, { value: { txt: 'bad' } }]
  assert.deepEqual(fieldsOf(newMessagesShape, { messages }), {
    'messages.1.value': 'got an object, takes {"text": …}, with an optional schema, or {"base64": …}',
  })
})

test('for an unknown field the problem suggests a similar field, if there is one', () => {
  assert.deepEqual(fieldsOf(newCredentialShape, { ...USER, tenantId: 'red', colour: 'red' }), {
    tenantId: 'is not taken here; did you mean tenant_id?',
    colour: 'is not taken here',
  })
  assert.deepEqual(fieldsOf(newMessagesShape, { messages: [{ headrs: [] }] }), {
    'messages.0.headrs': 'is not taken here; did you mean headers?',
  })
  // A field that is in the request too is not suggested.
  assert.deepEqual(
    fieldsOf(newAclShape, { principal: 'ada', resourceType: 'TOPIC', resourceName: 'x', operation: 'READ' }),
    {
      resourceName: 'is not taken here',
    },
  )
})

test('the value of a field with the name of a secret is never repeated', () => {
  const shape = z.object({ newPassword: z.string().max(4), tokens: z.enum(['a', 'b']) })
  assert.deepEqual(fieldsOf(shape, { newPassword: 'hunter22', tokens: 'hunter22' }), {
    newPassword: 'got a text, takes at most 4 characters',
    tokens: 'got a text, takes a or b',
  })
  assert.deepEqual(fieldsOf(shape, { newPassword: 12345678, tokens: 'a' }), {
    newPassword: 'got a number, takes a text',
  })
  // This client forgot the object around the field.
  assert.deepEqual(fieldsOf(shape, 'hunter22'), { body: 'got a text, takes an object' })
  assert.deepEqual(fieldsOf(shape, 12345678), { body: 'got a number, takes an object' })
})

test('a value that fits is returned with its defaults', () => {
  assert.deepEqual(validate(newUserShape, USER, 'body'), { value: { ...USER, role: 'ADMIN' } })
})

// The commands of the schema registry, against a real broker.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { ketch } from '../../testing/run-ketch.ts'
import { createTopic } from '../../testing/topic.ts'
import type { Values } from '../settings/settings.ts'

async function started(t: TestContext, settings: Partial<Values> = {}) {
  const broker = await startBroker(t, { 'admin.security-enabled': false, ...settings }, { hasHttp: true })
  const run = (line: string, input = '', answers?: readonly string[]) =>
    ketch([...line.split(' '), `--url=${broker.url}`], {
      input: [input],
      ...(answers === undefined ? {} : { answers }),
    })
  return { broker, run }
}

const order = (...fields: readonly object[]) =>
  JSON.stringify({ type: 'record', name: 'Order', namespace: 'com.acme', fields })
const ID = { name: 'id', type: 'long' }
const NOTE = { name: 'note', type: 'string', default: '\\d' }
const AMOUNT = { name: 'amount', type: 'double' }

test('schemas are registered, listed, shown and compared, also as JSON', async t => {
  const { broker, run } = await started(t)
  assert.match((await run('schemas list')).out, /^There are no subjects\. ketch schemas register makes one; /)
  assert.equal((await run('schemas list --deleted=only')).out, 'There are no such subjects.\n')
  assert.match((await run('schemas topics')).out, /^No topic is judged: .* orders-value for the values of orders\.\n$/)
  assert.equal((await run('schemas topics --all')).out, 'There are no topics.\n')
  assert.equal((await run('schemas topics --filter=x')).out, 'No such topic is judged.\n')
  await createTopic(broker, 'orders', 1)
  const made = await run('schemas register orders-value', order(ID))
  assert.deepEqual([made.err, made.status], ['', 0])
  assert.match(made.out, /^orders-value has the schema as version 1, with the id \d+\.\n$/)
  assert.equal((await run('schemas register orders-value --normalize', order(ID, NOTE))).status, 0)

  const listed = await run('schemas list --filter=ORD')
  assert.match(listed.out, /^SUBJECT +TYPE +VERSION +ID +VERSIONS +LEVEL +MODE +TOPICS +NOTE\norders-value +AVRO +2 /)
  assert.match(listed.out, / 2 +BACKWARD +READWRITE +orders \(value\) +-$/m)
  assert.equal((await run('schemas list --filter=nothing')).out, 'There are no such subjects.\n')
  assert.equal(JSON.parse((await run('schemas list --json')).out).subjects[0].subject, 'orders-value')

  const subject = await run('schemas show orders-value')
  assert.match(subject.out, /^judges +orders \(value\)\n\nVERSION +ID +REGISTERED +REFERS TO +REFERRERS +NOTE\n +2 /m)
  const version = await run('schemas show orders-value 2')
  assert.match(version.out, /^type +AVRO$.*\n {6}"name": "note",\n.*\n {6}"default": "\\\\d"\n/ms)
  assert.equal(
    (await run('schemas show orders-value latest --text')).out,
    `${JSON.parse((await run('schemas show orders-value 2 --json')).out).schema}\n`,
  )
  const { id } = JSON.parse((await run('schemas show orders-value 1 --json')).out)
  assert.match((await run(`schemas show --id=${id}`)).out, new RegExp(`^id +${id}\n.*^versions +orders-value:1$`, 'ms'))

  const diff = await run('schemas diff orders-value')
  assert.match(diff.out, /^--- orders-value version 1 \(id \d+\)\n\+\+\+ orders-value version 2 \(id \d+\)\n@@ /)
  assert.match(diff.out, /^\+ {6}"name": "note",$/m)
  assert.match(
    diff.out,
    /\n\nVersion 2 reads all that version 1 writes\.\nVersion 1 reads all that version 2 writes\.\n$/,
  )
  assert.match((await run('schemas diff orders-value 2 1')).out, /^--- orders-value version 2/)
  assert.equal(
    (await run('schemas diff orders-value 2 latest')).out,
    'Version 2 of orders-value was compared with itself. Name two versions.\n',
  )

  const topics = await run('schemas topics --all')
  assert.match(topics.out, /^TOPIC +PART +JUDGED +SUBJECT +NOT VALID\n/)
  assert.match(topics.out, /^orders +key +not yet +orders-key +0$/m)
  assert.match(topics.out, /^orders +value +yes +orders-value +0$/m)
})

test('a check names each version that a schema does not fit, and ends with status 1', async t => {
  const { run } = await started(t)
  await run('schemas register s', order(ID))
  await run('schemas register s', order(ID, NOTE))
  const good = await run('schemas check s', order(ID, NOTE, { ...NOTE, name: 'more' }))
  assert.deepEqual(
    [good.status, good.out],
    [0, 'The schema fits 1 version of s (level BACKWARD). It would be version 3.\n'],
  )
  assert.match(
    (await run('schemas check s', order(ID))).out,
    /^s has this schema already, as version 1 with the id \d+\.\n$/,
  )
  const bad = await run('schemas check s --level=full_transitive', order(ID, AMOUNT))
  assert.equal(bad.status, 1)
  assert.match(
    bad.out,
    /^The schema does not fit version 2 of s \(level FULL_TRANSITIVE\):\n {2}\/fields\/1: .*amount.*\nThe schema does not fit version 1 of s/,
  )
  const broken = await run('schemas check s', '{"type":"rec"}')
  assert.equal(broken.status, 1)
  assert.match(broken.out, /^Invalid schema of type AVRO, details: /)
  // A quotation is escaped once.
  const noJson =
    /details: the schema is no JSON: line 1, column 1: expected a value, found "syntax = \\"proto3\\";".*\nThe text looks like PROTOBUF: try --type=protobuf\.\n$/
  assert.match((await run('schemas check s', 'syntax = "proto3";')).out, noJson)
  assert.match((await run('schemas register s', 'syntax = "proto3";')).err, noJson)
  const ofJson = await run('schemas register o', '{"type":"object"}')
  assert.match(
    ofJson.err,
    /expected a type, not "object" \[INVALID_SCHEMA\]\nThe text looks like JSON: try --type=json\.\n$/,
  )
  assert.match(
    (await run('schemas check s', '"int"')).out,
    /\n {2}the root of the schema: the reader's int cannot read /,
  )
  await run('schemas register j --type=JSON', '{"properties":{"a":{"maximum":2}}}')
  assert.match(
    (await run('schemas check j --type=JSON', '{"properties":{"a":{"maximum":1}}}')).out,
    /\n {2}\/properties\/a\/maximum: the reader has maximum 1, and the writer 2\n$/,
  )
  const refused = await run('schemas register s', order(ID, AMOUNT))
  assert.equal(refused.status, 1)
  assert.match(refused.err, /^ketch: The schema does not fit version 2 of 's' .*\[INCOMPATIBLE_SCHEMA\]\n$/)

  const typed = await run('schemas check p --type=protobuf', 'syntax = "proto3"; message A { int32 a = 1; }')
  assert.match(typed.out, /^The schema is valid\. It was compared with no version/)
  const uses = await run('schemas check other --reference=com.acme.Order=s:2', '["null","com.acme.Order"]')
  assert.match(uses.out, /^The schema is valid\./)
  assert.match((await run('schemas check other --reference=x=s', '"int"')).err, /takes <name>=<subject>:<version>/)
  assert.match((await run('schemas check other')).err, /the standard input is empty; it takes the text of a schema/)
  assert.match((await run('schemas check s --type=xml', '"int"')).err, /--type: got "xml", takes AVRO, JSON, PROTOBUF/)
  assert.match((await run('schemas check s', 'x'.repeat(2 ** 20 + 1))).err, /more than 1 MiB/)
})

test('levels and modes are shown, set and reset', async t => {
  const { run } = await started(t)
  assert.match(
    (await run('schemas level')).out,
    /^subject +all without one of their own\nlevel +BACKWARD\norigin +the default\n/,
  )
  assert.match(
    (await run('schemas level s --set=full')).out,
    /^subject +s\nlevel +FULL\norigin +set for the subject\nlevel without it +BACKWARD\n$/,
  )
  assert.match((await run('schemas level s --reset')).out, /^level +BACKWARD$/m)
  assert.match(
    (await run('schemas level s --reset')).err,
    /^ketch: The subject 's' has no level of its own\. \[NOT_FOUND\]\n$/,
  )
  assert.match((await run('schemas mode --set=READONLY')).out, /^mode +READONLY$/m)
  const locked = await run('schemas register s', '"int"')
  assert.deepEqual([locked.status, locked.err], [1, 'ketch: Subject s is in read-only mode. [CONFLICT]\n'])
  assert.match((await run('schemas check s', '"int"')).out, /^The subject is in mode READONLY/)
  assert.match((await run('schemas mode --reset')).out, /^mode +READWRITE$/m)
  assert.match(
    (await run('schemas mode s --set=nothing')).err,
    /--set: got "nothing", takes READWRITE, READONLY, IMPORT/,
  )
  assert.match((await run('schemas mode s --force')).err, /--force goes with --set=IMPORT/)
  assert.match((await run('schemas mode s --set=READONLY --force')).err, /--force goes with --set=IMPORT/)
  assert.match((await run('schemas level s --set=NONE --reset')).err, /exclude each other/)
})

test('a deletion shows what it means, and asks', async t => {
  const { broker, run } = await started(t)
  await createTopic(broker, 'base', 1)
  await createTopic(broker, 'strict', 1, { 'confluent.value.schema.validation': 'true' })
  await run('schemas register base-value', order(ID))
  await run('schemas register user --reference=com.acme.Order=base-value:1', '["null","com.acme.Order"]')
  const dry = await run('schemas delete base-value --dry-run')
  assert.equal(dry.status, 0)
  assert.match(
    dry.out,
    /^Version 1 of base-value would be deleted\.\nThese records would no longer be judged: base \(value\)\.\n/,
  )
  assert.match(
    dry.out,
    /\nThe deletion is refused while other schemas refer to it:\nSUBJECT +VERSION +ID +REFERS TO +NOTE\nuser +1 /,
  )
  await run('schemas level many --set=NONE')
  for (let size = 1; size <= 11; size++)
    await run('schemas register many', `{"type":"fixed","name":"F","size":${size}}`)
  assert.equal(
    (await run('schemas delete many --dry-run')).out,
    '11 versions (from 1 to 11) of many would be deleted.\n',
  )
  const refused = await run('schemas delete base-value --yes')
  assert.equal(refused.status, 1)
  assert.match(refused.err, /Other schemas refer to the subject 'base-value': 'user' version 1\. .*\[REFERENCED\]/)

  await run('schemas register strict-value', '"int"')
  assert.match(
    (await run('schemas delete strict-value --dry-run')).out,
    /would be deleted\.\nThese records would all be refused, because their topic demands a schema: strict \(value\)\.\n$/,
  )

  const kept = await run('schemas delete user', '', ['n'])
  assert.deepEqual([kept.status, kept.questions], [0, ['Delete 1 version of user? [y/N] ']])
  assert.match((await run('schemas delete user')).err, /without a terminal to confirm it, add --yes/)
  assert.equal((await run('schemas delete user latest --yes')).out, 'Version 1 of user is deleted.\n')
  assert.match((await run('schemas list --deleted=only')).out, /^user +AVRO .* deleted$/m)
  assert.equal((await run('schemas delete user --permanent --yes')).out, 'Version 1 of user is removed.\n')
  assert.match((await run('schemas show user')).err, /There is no subject 'user'\. \[NOT_FOUND\]/)
})

test('wrong words are refused with what is expected, and each command has a help', async t => {
  const { run } = await started(t, { 'schema-registry.enabled': false })
  assert.match((await run('schemas list')).err, /svc\.schema-registry\.enabled.* \[SCHEMA_REGISTRY_OFF\]/)
  assert.match((await run('schemas show')).err, /name a subject, or give --id/)
  assert.match((await run('schemas show s --id=1')).err, /name a subject or give --id, not both/)
  assert.match((await run('schemas show ')).err, /got "" in place of a name/)
  assert.match((await run('schemas show s --text')).err, /--text needs a version/)
  assert.match(
    (await run('schemas show s 0')).err,
    /version: got "0", takes the number of a version, from 1, or latest/,
  )
  assert.match((await run('schemas show --id=x')).err, /--id: got "x", takes a whole number from 1/)
  assert.match((await run('schemas list --deleted=all')).err, /--deleted: got "all", takes hide, show, only/)
  for (const verb of ['list', 'show', 'diff', 'check', 'register', 'level', 'mode', 'delete', 'topics'])
    assert.match((await run(`schemas ${verb} --help`)).out, new RegExp(`^Usage: ketch schemas ${verb} `))
  assert.match((await run('schemas --help')).out, /ketch schemas check <subject>/)
})

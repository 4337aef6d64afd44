// Produced records are judged by their schemas on a running broker: each cause, codec and framing, on both stores;
// real idempotent producers; an upgrade; the admin API; a store that is away. A run takes each cause in each framing
// with one codec, and each of the real producers on one of the stores. The seed draws which. KETCH_LONG=1 takes all
// of them.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { codecs } from '../../src/protocol/compression.ts'
import { INVALID_RECORD, NONE } from '../../src/protocol/errors.ts'
import { framed } from '../../src/registry/payload/framing.ts'
import { writeIndexes } from '../../src/registry/payload/message-indexes.ts'
import { adminClient } from '../../testing/admin-client.ts'
import { drawnBy } from '../../testing/at-length.ts'
import { eventually } from '../../testing/eventually.ts'
import { named, type WayToName } from '../../testing/judge-world.ts'
import { type JudgedBroker, onRedis, startJudgedBroker } from '../../testing/judged-broker.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { runCommand } from '../command.ts'
import { fetchJars, JAVA_ARGUMENTS } from '../java/jars.ts'
import { PYTHON } from '../python/client.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

const V1 = { type: 'record', name: 'Order', fields: [{ name: 'name', type: 'string' }] }
const V2 = { ...V1, fields: [...V1.fields, { name: 'count', type: 'int', default: 0 }] }
const V1_BODY = hex('02 61')
const PROTO = 'syntax = "proto3"; message A { string s = 1; } message B { int32 n = 1; }'
const JSON_SCHEMA = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }

const stores = [
  { name: 'the embedded store', skip: false as const, settings: async () => ({}) },
  { name: 'Redis', skip: noRedis, settings: onRedis },
]

interface FormatCase {
  readonly type: string
  readonly schema: object | string
  readonly good: Buffer
  readonly bad: readonly (readonly [reason: string, body: Buffer])[]
}

const formats: readonly FormatCase[] = [
  {
    ...{ type: 'AVRO', schema: V1, good: V1_BODY },
    bad: [
      ['truncated', hex('04 61')],
      ['trailing-bytes', hex('02 61 00')],
      ['bad-value', hex('02 ff')],
    ],
  },
  {
    ...{ type: 'PROTOBUF', schema: PROTO, good: Buffer.concat([writeIndexes([0]), hex('0a 01 61')]) },
    bad: [
      ['no-message', Buffer.concat([writeIndexes([2]), hex('0a 01 61')])],
      ['truncated', Buffer.concat([writeIndexes([0]), hex('0a 05 61')])],
      ['bad-value', Buffer.concat([writeIndexes([0]), hex('08 01')])],
    ],
  },
  {
    ...{ type: 'JSON', schema: JSON_SCHEMA, good: Buffer.from('{"n":1}') },
    bad: [
      ['bad-value', Buffer.from('{"n":"1"}')],
      ['bad-value', Buffer.from('{"n":1')],
    ],
  },
]

for (const [at, { name, skip, settings }] of stores.entries()) {
  test(`on ${name} each cause, codec and framing refuses the batch, and nothing of it is stored`, { skip }, async t => {
    for (const format of formats)
      await refusesAll(await startJudgedBroker(t, { settings: await settings(t) }), format, at)
  })
}

/** `first` chooses the codec of the first cause; the next cause has the next codec. */
async function refusesAll(judged: JudgedBroker, { type, schema, good, bad }: FormatCase, first: number): Promise<void> {
  const subject = 't-value'
  const { produce } = judged
  const id = await judged.register(subject, schema, type)
  const { guid } = (await judged.ask('GET', `/schemas/ids/${id}`)) as { guid: string }
  const elsewhere = await judged.register(`${type}-other`, { ...V2, name: type })
  let stored = (await judged.values()).length
  let cause = first + seed
  for (const by of ['prefix', 'header-id', 'header-guid'] satisfies WayToName[]) {
    // With a header, the message indexes stand in it.
    if (type === 'PROTOBUF' && by !== 'prefix') continue
    const right = named(by, { id, guid }, good)
    const wrongs = bad.map(([reason, body]) => [reason, named(by, { id, guid }, body)] as const)
    const others = [
      ['unknown-id', named('prefix', { id: elsewhere, guid }, good)],
      ['unknown-id', named('prefix', { id: 999_999, guid }, good)],
      ['no-schema-id', { value: good.length > 3 ? Buffer.from('{raw}') : hex('01 02') }],
      ['no-schema-id', { value: Buffer.alloc(0) }],
    ] as const
    for (const [reason, wrong] of [...wrongs, ...others]) {
      for (const compression of drawnBy(cause++, codecs.length, codecs)) {
        for (const [at, records] of [
          [0, [wrong, right, right]],
          [2, [right, right, wrong]],
        ] as const) {
          const row = await produce(records, { compression })
          const told = `${type} ${by} ${reason} ${compression} ${JSON.stringify(row)}`
          assert.deepEqual([row.errorCode, row.baseOffset], [INVALID_RECORD.code, -1], told)
          assert.deepEqual(
            row.recordErrors.map(({ batchIndex }) => batchIndex),
            [at],
            told,
          )
          assert.match(
            row.recordErrors[0]!.batchIndexErrorMessage!,
            new RegExp(`^The value breaks the rule ${reason}: `),
          )
          assert.match(row.errorMessage!, /^1 of 3 records are not valid. The first one is record /)
        }
      }
    }
    for (const compression of codecs) {
      const row = await produce([right, { value: null }, right], { compression })
      assert.deepEqual([row.errorCode, row.baseOffset], [NONE, stored], `${type} ${by} ${row.errorMessage}`)
      stored += 3
    }
  }
  await judged.ask('DELETE', `/subjects/${subject}`)
}

/** Writes values to a file for a client: every 10th one is bad. */
function valuesFile(t: TestContext, id: number, count: number) {
  const values = Array.from({ length: count }, (_, i) => {
    const text = String(i).padStart(6, '0')
    return framed(id, hex(i % 10 === 3 ? 'ff' : '0c'), Buffer.from(text))
  })
  const file = join(newFolder(t), 'values')
  writeFileSync(file, values.map(value => value.toString('base64')).join('\n'))
  return { values, file }
}

const isBad = (i: number) => i % 10 === 3

async function exactlyTheBadFail(judged: JudgedBroker, lines: readonly string[], values: readonly Buffer[]) {
  assert.equal(lines.length, values.length)
  const failed = lines.flatMap((line, i) => (line.endsWith(' ok') ? [] : [i]))
  assert.deepEqual(
    failed,
    values.flatMap((_, i) => (isBad(i) ? [i] : [])),
    lines.filter(l => !l.endsWith('ok')).join('\n'),
  )
  assert.deepEqual(
    await judged.values(),
    values.filter((_, i) => !isBad(i)),
  )
}

const noJava = fetchJars() ?? (spawnSync('javac', ['-version']).status === 0 ? false : 'SKIPPED javac')
const noPython = spawnSync(PYTHON, ['-c', 'import confluent_kafka']).status === 0 ? false : 'SKIPPED confluent_kafka'

for (const { name, skip, settings } of drawnBy(seed, stores.length, stores))
  test(`on ${name} exactly the bad batches of an idempotent Java producer fail`, { skip: skip || noJava }, async t => {
    const judged = await startJudgedBroker(t, { settings: await settings(t) })
    const id = await judged.register('t-value', V1)
    const { values, file } = valuesFile(t, id, 600)
    const folder = newFolder(t)
    const at = JAVA_ARGUMENTS.indexOf('-cp')
    const path = [...JAVA_ARGUMENTS.slice(0, at + 1), `${JAVA_ARGUMENTS[at + 1]}:${folder}`]
    const source = join(import.meta.dirname, 'Judged.java')
    await runCommand('javac', ['-d', folder, '-cp', JAVA_ARGUMENTS[at + 1]!, source])
    const run = async (size: string) => {
      const output = await runCommand('java', [...path, 'Judged', judged.broker.address, 't', file, size])
      return output.toString().trim().split('\n')
    }
    const lines = await run('1')
    await exactlyTheBadFail(judged, lines, values)
    assert.match(lines[3]!, /^3 InvalidRecordException The value breaks the rule bad-value: at byte 0, field "name": /)
    // In larger batches, the exception of a good record says that another one is to blame.
    const large = await run('16384')
    assert.match(large[3]!, /^3 InvalidRecordException The value breaks the rule bad-value: at byte 0, field "name": /)
    assert.match(
      large[4]!,
      /^4 (InvalidRecordException|KafkaException) Failed to append record because it was part of a batch/,
    )
  })

for (const { name, skip, settings } of drawnBy(seed + 1, stores.length, stores))
  test(`on ${name} exactly the bad batches of an idempotent librdkafka fail`, { skip: skip || noPython }, async t => {
    const judged = await startJudgedBroker(t, { settings: await settings(t) })
    const { values, file } = valuesFile(t, await judged.register('t-value', V1), 600)
    const script = join(import.meta.dirname, 'judged.py')
    const output = await runCommand(PYTHON, [script, judged.broker.address, 't', file])
    await exactlyTheBadFail(judged, output.toString().trim().split('\n'), values)
  })

test('a producer of the first version is accepted while the second one rolls out, and after the first is deleted', async t => {
  const judged = await startJudgedBroker(t)
  const one = await judged.register('t-value', V1)
  const old = [{ value: framed(one, V1_BODY) }]
  assert.equal((await judged.produce(old)).errorCode, NONE)
  const two = await judged.register('t-value', V2)
  const both = [...old, { value: framed(two, V1_BODY, hex('08')) }]
  assert.equal((await judged.produce(both, { compression: 'zstd' })).errorCode, NONE)
  await judged.ask('DELETE', '/subjects/t-value/versions/1')
  assert.equal((await judged.produce(both)).errorCode, NONE)
})

test('the admin API is judged alike, and the counters say what was refused', async t => {
  const judged = await startJudgedBroker(t)
  const id = await judged.register('t-value', V1)
  const api = adminClient(`${judged.broker.url}/api/v1`)
  const send = (value: Buffer) =>
    api.ask('POST', '/topics/t/messages', { messages: [{ partition: 0, value: { base64: value.toString('base64') } }] })
  const { body: bad } = await send(framed(id, hex('ff')))
  assert.equal(bad.code, 'INVALID_RECORD', JSON.stringify(bad))
  assert.match(bad.detail, /^The record is not valid\. The value breaks the rule truncated: at byte 0, field "name": /)
  const { body: good } = await send(framed(id, V1_BODY))
  assert.deepEqual([good.messages[0].error, good.messages[0].offset], [null, 0])
  const scrape = await (await fetch(`${judged.broker.url}/actuator/prometheus`)).text()
  assert.match(scrape, /^svc_schema_registry_verdicts_total\{topic="t",reason="truncated"\} 1$/m)
  assert.match(scrape, /^svc_schema_registry_verdicts_total\{topic="t",reason="valid"\} 1$/m)
})

test('while a Redis does not answer, records are refused for now, and nothing passes unseen', {
  skip: noRedis,
}, async t => {
  const redis = await startRedis(t)
  // The start needs Redis too, and a slow machine needs seconds for its first answer.
  const judged = await startJudgedBroker(t, { settings: { 'svc.redis.uri': redis.uri, 'svc.redis.timeout': '5s' } })
  const id = await judged.register('t-value', V1)
  assert.equal((await judged.produce([{ value: framed(id, V1_BODY) }])).errorCode, NONE)
  redis.pause()
  try {
    // For two seconds at most the subject in memory counts: a record that is certainly bad may be refused for good.
    await eventually('the answer to a bad record is retriable', async () => {
      const { errorCode } = await judged.produce([{ value: hex('ff') }])
      assert.notEqual(errorCode, NONE)
      return errorCode !== INVALID_RECORD.code
    })
    const { errorCode } = await judged.produce([{ value: framed(id, V1_BODY) }])
    assert.ok(errorCode !== NONE && errorCode !== INVALID_RECORD.code, String(errorCode))
  } finally {
    redis.resume()
  }
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { adminClient } from '../../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { headerBomb } from '../../../testing/poison.ts'
import { crc32c } from '../../base/crc32c.ts'
import { codecs } from '../../protocol/compression.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { encodeBatch } from '../../protocol/records.ts'
import type { Values } from '../../settings/settings.ts'

async function openApi(t: CleanUp, overrides: Partial<Values> = {}) {
  const broker = await startBroker(t, { 'admin.security-enabled': false, ...overrides }, { hasHttp: true })
  const base = `${broker.url}/api/v1`
  const wire = await broker.connect()
  return {
    base,
    api: adminClient(base).ask,
    async send(topic: string, index: number, batch: Buffer) {
      const { responses } = await wire.send(produce, 9, {
        acks: -1,
        timeoutMs: 5000,
        topicData: [{ name: topic, partitionData: [{ index, records: batch }] }],
      })
      assert.equal(responses[0]!.partitionResponses[0]!.errorCode, 0)
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: rows of a page, each test reads their members without types
type Row = any

test('a produced record is answered with its partition and offset, and read back unchanged', async t => {
  const { api } = await openApi(t)
  await api('POST', '/topics', { name: 't', partitions: 3 })
  const produced = await api('POST', '/topics/t/messages', {
    messages: [
      {
        partition: 2,
        key: { text: 'k' },
        value: { text: '{"n":73314510714175488,"d":1.10}' },
        timestamp: 1700000000000,
      },
      {
        partition: 2,
        key: null,
        value: { base64: '//4=' },
        headers: [
          { key: 'h', value: { text: 'one' } },
          { key: 'h', value: { base64: '/w==' } },
          { key: 'n', value: null },
        ],
        timestamp: 1700000000001,
      },
      { partition: 2, key: { text: '' }, timestamp: 1700000000002 },
    ],
  })
  assert.equal(produced.status, 200)
  assert.deepEqual(
    produced.body.messages,
    [0, 1, 2].map(i => ({ partition: 2, offset: i, timestamp: 1700000000000 + i, error: null })),
  )
  const { status, body } = await api('GET', '/topics/t/messages')
  assert.equal(status, 200)
  const message = (offset: number, rest: object) => ({
    partition: 2,
    offset,
    timestamp: 1700000000000 + offset,
    timestampType: 'CreateTime',
    key: null,
    value: null,
    headers: [],
    headerCount: 0,
    ...rest,
  })
  assert.deepEqual(body.messages, [
    message(0, {
      key: { status: 'decoded', text: 'k', bytes: 1, truncated: false },
      value: { status: 'decoded', text: '{"n":73314510714175488,"d":1.10}', bytes: 32, truncated: false },
    }),
    message(1, {
      value: {
        status: 'decode-error',
        base64: '//4=',
        bytes: 2,
        truncated: false,
        reason: 'The bytes are not UTF-8.',
      },
      headers: [
        { key: 'h', value: { status: 'decoded', text: 'one', bytes: 3, truncated: false } },
        { key: 'h', value: { status: 'raw', base64: '/w==', bytes: 1, truncated: false } },
        { key: 'n', value: null },
      ],
      headerCount: 3,
    }),
    message(2, { key: { status: 'decoded', text: '', bytes: 0, truncated: false } }),
  ])
  assert.deepEqual(body.ends, [
    { partition: 0, start: 0, end: 0 },
    { partition: 1, start: 0, end: 0 },
    { partition: 2, start: 0, end: 3 },
  ])
  assert.deepEqual([body.nextCursor, body.scanned, body.isPartial, body.unavailable], [null, 3, false, []])
  assert.ok(body.bytes > 0)
})

test('records are decoded as requested, and a value that cannot be decoded never fails the page', async t => {
  const { api } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  const values = [{ text: '[1]' }, { text: 'plain' }, { base64: '/w==' }, { base64: 'AAAAAAdhYg==' }]
  await api('POST', '/topics/t/messages', { messages: values.map(value => ({ key: value, value })) })
  const statuses = async (decode: string) => {
    const { body } = await api('GET', `/topics/t/messages?decode=${decode}&keyDecode=${decode}`)
    return body.messages.map(({ key, value }: Row) => {
      assert.deepEqual(key, value)
      assert.equal('text' in value, value.status === 'decoded')
      return value.status
    })
  }
  assert.deepEqual(await statuses('raw'), ['raw', 'raw', 'raw', 'raw'])
  // A zero byte is a character too.
  assert.deepEqual(await statuses('utf8'), ['decoded', 'decoded', 'decode-error', 'decoded'])
  assert.deepEqual(await statuses('json'), ['decoded', 'decode-error', 'decode-error', 'decode-error'])
  assert.deepEqual(await statuses('registry'), ['raw', 'raw', 'raw', 'schema-not-found'])
  const { body } = await api('GET', '/topics/t/messages?decode=registry&offset=3')
  assert.deepEqual(body.messages[0].value, {
    status: 'schema-not-found',
    base64: 'AAAAAAdhYg==',
    bytes: 7,
    truncated: false,
    schema: { id: 7 },
    reason: 'The schema registry has no schema with the id 7.',
  })
})

test('a large or hostile value is text, cut in lists, whole by its offset, and a file to download', async t => {
  const { api, base, send } = await openApi(t)
  await api('POST', '/topics', { name: 't', configs: { 'max.message.bytes': '6000000' } })
  const large = 'é'.repeat(2_500_000)
  const script = '<script>alert(1)</script>'
  await send('t', 0, encodeBatch([{ key: script, value: large }]))
  await send('t', 0, encodeBatch([{ value: script }]))

  const listed = await fetch(`${base}/topics/t/messages`)
  assert.equal(listed.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.equal(listed.headers.get('x-content-type-options'), 'nosniff')
  await listed.body?.cancel()
  const { body } = await api('GET', '/topics/t/messages?decode=utf8&previewBytes=2047')
  const [first, second] = body.messages
  // A cut never splits a character.
  assert.deepEqual(first.value, { status: 'decoded', text: 'é'.repeat(1023), bytes: 5_000_000, truncated: true })
  assert.equal(second.value.text, script)
  const raw = await api('GET', '/topics/t/messages?decode=raw&limit=1')
  assert.equal(Buffer.from(raw.body.messages[0].value.base64, 'base64').length, 2048)

  const whole = await api('GET', '/topics/t/messages/0/0?decode=utf8')
  assert.deepEqual([whole.body.value.text === large, whole.body.value.truncated], [true, false])

  const file = await fetch(`${base}/topics/t/messages/0/0/download`)
  assert.equal(file.headers.get('content-type'), 'application/octet-stream')
  assert.equal(file.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(file.headers.get('content-disposition'), 'attachment; filename="t-0-0-value.bin"')
  assert.ok(Buffer.from(await file.arrayBuffer()).equals(Buffer.from(large)))
  const key = await fetch(`${base}/topics/t/messages/0/0/download?part=key`)
  assert.equal(await key.text(), script)

  assert.equal((await api('GET', '/topics/t/messages/0/1/download?part=key')).status, 404)
  for (const path of ['/topics/t/messages/0/2', '/topics/t/messages/0/9007199254740991', '/topics/t/messages/1/0']) {
    assert.equal((await api('GET', path)).status, 404, path)
  }
  // The API itself accepts a value of one megabyte too.
  const messages = [{ key: { text: script }, value: { text: 'é'.repeat(500_000) } }, { value: { text: script } }]
  const produced = await api('POST', '/topics/t/messages', { messages })
  assert.equal(produced.status, 200, JSON.stringify(produced.body))
})

test('a page of all partitions is in the order of time, and pages go through every record once', async t => {
  const { api } = await openApi(t)
  await api('POST', '/topics', { name: 't', partitions: 3 })
  // The partitions take turns, in batches of different sizes, and one timestamp is much later than its neighbours.
  const messages = Array.from({ length: 100 }, (_, i) => ({
    partition: (i * 7) % 3,
    value: { text: String(i) },
    timestamp: 1_700_000_000_000 + i * 10,
  }))
  for (let at = 0; at < 100; at += 9) {
    await api('POST', '/topics/t/messages', { messages: messages.slice(at, at + 9) })
  }
  for (const order of ['oldest', 'newest']) {
    const seen: string[] = []
    let cursor: string | null = null
    let pages = 0
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`
      const { status, body } = await api('GET', `/topics/t/messages?order=${order}&limit=13${query}`)
      assert.equal(status, 200, JSON.stringify(body))
      seen.push(...body.messages.map((message: Row) => message.value.text))
      cursor = body.nextCursor
      pages++
    } while (cursor !== null)
    const expected = Array.from({ length: 100 }, (_, i) => String(order === 'oldest' ? i : 99 - i))
    assert.deepEqual(seen, expected)
    assert.equal(pages, 8)
  }
})

test('a page begins at an offset or a time, forwards or backwards', async t => {
  const { api } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  for (let i = 0; i < 10; i++) {
    await api('POST', '/topics/t/messages', {
      messages: [{ value: { text: `${i}` }, timestamp: 1_700_000_000_000 + i * 10 }],
    })
  }
  const texts = async (query: string) => {
    const { body } = await api('GET', `/topics/t/messages?${query}`)
    return body.messages.map((message: Row) => message.value.text).join('')
  }
  assert.equal(await texts('offset=4'), '456789')
  assert.equal(await texts('offset=4&order=newest'), '43210')
  assert.equal(await texts('offset=400'), '')
  assert.equal(await texts('offset=400&order=newest&limit=2'), '98')
  assert.equal(await texts('timestamp=1700000000031'), '456789')
  assert.equal(await texts('timestamp=1700000000031&order=newest'), '3210')
  assert.equal(await texts('timestamp=1700000000030&order=newest'), '3210')
  assert.equal(await texts('timestamp=1800000000000'), '')
  assert.equal(await texts('timestamp=1800000000000&order=newest&limit=1'), '9')
  assert.equal(await texts('from=latest'), '')
  assert.equal(await texts('from=earliest&limit=1'), '0')
  await api('POST', '/topics/t/records/delete', { offsets: [{ partition: 0, before: 3 }] })
  assert.equal(await texts('limit=1'), '3')
  assert.equal(await texts('offset=0&limit=1'), '3')
  assert.equal(await texts('order=newest'), '9876543')
})

test('a cursor of another request is refused, and a cursor of deleted records continues where the log begins', async t => {
  const { api } = await openApi(t)
  for (const name of ['t', 'other']) {
    await api('POST', '/topics', { name, partitions: 2 })
    const messages = Array.from({ length: 6 }, (_, i) => ({ partition: i % 2, value: { text: `${i}` }, timestamp: i }))
    await api('POST', `/topics/${name}/messages`, { messages })
  }
  const { body } = await api('GET', '/topics/t/messages?limit=2')
  const cursor = body.nextCursor
  const refused = async (path: string) => {
    const answer = await api('GET', path)
    assert.deepEqual([answer.status, answer.body.code], [400, 'INVALID_REQUEST'], path)
    assert.ok('cursor' in answer.body.fields)
  }
  await refused(`/topics/other/messages?cursor=${cursor}`)
  await refused(`/topics/t/messages?cursor=${cursor}&order=newest`)
  await refused(`/topics/t/messages?cursor=${cursor}&partition=0`)
  await refused('/topics/t/messages?cursor=abc')
  await refused(`/topics/t/messages?cursor=${cursor.slice(0, -3)}`)
  await refused('/topics/t/messages/tail?cursor=abc')
  await api('POST', '/topics/t/records/delete', { offsets: [{ partition: 0, before: 2 }] })
  const next = await api('GET', `/topics/t/messages?cursor=${cursor}`)
  assert.deepEqual(
    next.body.messages.map((message: Row) => message.value.text),
    ['3', '4', '5'],
  )
  await api('DELETE', '/topics/t')
  await api('POST', '/topics', { name: 't', partitions: 2 })
  await refused(`/topics/t/messages?cursor=${cursor}`)
})

test('every codec is read, and a batch that cannot be unpacked is shown with its error', async t => {
  const { api, send } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  for (const compression of codecs) {
    await send('t', 0, encodeBatch([{ value: compression }, { value: `${compression} again` }], { compression }))
  }
  // The batch claims to be gzip.
  const broken = encodeBatch([{ value: 'broken' }, { value: 'both' }], { compression: 'none' })
  await send('t', 0, breakCodec(broken))
  await send('t', 0, encodeBatch([{ value: 'last' }]))
  const expected = codecs.flatMap(codec => [codec, `${codec} again`])
  const forwards = await api('GET', '/topics/t/messages?decode=utf8')
  const texts = forwards.body.messages.map((message: Row) => message.value.text ?? message.value.status)
  assert.deepEqual(texts, [...expected, 'decode-error', 'last'])
  const backwards = await api('GET', '/topics/t/messages?decode=utf8&order=newest&limit=4')
  assert.deepEqual(
    backwards.body.messages.map((message: Row) => message.value.text ?? message.value.status),
    ['last', 'decode-error', 'zstd again', 'zstd'],
  )
  const { body } = await api('GET', '/topics/t/messages/0/11')
  assert.match(body.value.reason, /^The records at the offsets 10 to 11 cannot be read: gzip/)
})

/** Marks an uncompressed batch as compressed with gzip, with the checksum for that. */
function breakCodec(batch: Buffer): Buffer {
  const bytes = Buffer.from(batch)
  bytes.writeInt16BE(1, 21)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return bytes
}

test('only records with the text are shown, and the next page continues after the records that were searched', async t => {
  const { api, send } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  for (let batch = 0; batch < 20; batch++) {
    const records = Array.from({ length: 100 }, (_, i) => ({ key: `k${i}`, value: `record ${batch * 100 + i}` }))
    await send('t', 0, encodeBatch(records))
  }
  for (const order of ['oldest', 'newest']) {
    const { body } = await api('GET', `/topics/t/messages?decode=utf8&contains=record%20100&limit=500&order=${order}`)
    const texts = body.messages.map((message: Row) => message.value.text.slice(7))
    const expected = ['100', ...Array.from({ length: 10 }, (_, i) => String(1000 + i))]
    assert.deepEqual(texts, order === 'oldest' ? expected : expected.reverse())
    assert.equal(body.scanned, 2000)
    assert.equal(body.nextCursor, null)
  }
  const byKey = await api('GET', '/topics/t/messages?contains=k42&decode=utf8')
  assert.equal(byKey.body.messages.length, 20)
})

test('a key goes to the partition that Kafka clients choose, and a refusal says why', async t => {
  const { api } = await openApi(t)
  await api('POST', '/topics', { name: 't', partitions: 7, configs: { 'max.message.bytes': '300' } })
  const { body } = await api('POST', '/topics/t/messages', {
    messages: [{ key: { text: 'foobar' } }, { key: { text: '21' } }],
  })
  const hashed = [-790332482, -973932308].map(hash => (hash & 0x7fffffff) % 7)
  assert.deepEqual(
    body.messages.map((row: Row) => row.partition),
    hashed,
  )
  const mixed = await api('POST', '/topics/t/messages', {
    messages: [
      { partition: 0, value: { text: 'x'.repeat(400) } },
      { partition: 1, value: { text: 'fits' } },
    ],
  })
  assert.deepEqual(
    mixed.body.messages.map((row: Row) => [row.offset === null, row.error?.code]),
    [
      [true, 'MESSAGE_TOO_LARGE'],
      [false, undefined],
    ],
  )
  const cases = [
    [{ messages: [{ partition: 0, value: { text: 'x'.repeat(400) } }] }, 400, 'MESSAGE_TOO_LARGE'],
    [{ messages: [{ timestamp: 4_000_000_000_000 }] }, 400, 'INVALID_TIMESTAMP'],
    [{ messages: [{ partition: 7 }] }, 404, 'UNKNOWN_TOPIC_OR_PARTITION'],
    [{ messages: [] }, 400, 'INVALID_REQUEST'],
    [{ messages: [{ value: { base64: 'no base64!' } }] }, 400, 'INVALID_REQUEST'],
    [{ messages: [{ value: 'text' }] }, 400, 'INVALID_REQUEST'],
    [{ messages: [{ vlaue: null }] }, 400, 'INVALID_REQUEST'],
    [{ messages: [{ timestamp: -1 }] }, 400, 'INVALID_REQUEST'],
  ] as const
  for (const [request, status, code] of cases) {
    const answer = await api('POST', '/topics/t/messages', request)
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body))
  }
  const bare = await api('POST', '/topics/t/messages', { messages: [{ value: 'text' }] })
  assert.deepEqual(Object.values(bare.body.fields), [
    'got "text", takes {"text": …}, with an optional schema, or {"base64": …}',
  ])
  assert.equal((await api('POST', '/topics/none/messages', { messages: [{}] })).status, 404)
})

test('a time before 1970 is accepted unchanged, if the topic accepts it and a batch can hold it', async t => {
  const { api } = await openApi(t)
  const after = { 'message.timestamp.after.max.ms': '9223372036854775807' }
  await api('POST', '/topics', { name: 't', configs: after })
  await api('POST', '/topics', { name: 'young', configs: { 'message.timestamp.before.max.ms': '1000' } })
  const produceAt = (topic: string, ...timestamps: number[]) =>
    api('POST', `/topics/${topic}/messages`, { messages: timestamps.map(timestamp => ({ timestamp })) })
  const timesOf = (body: Row) => body.messages.map(({ timestamp }: Row) => timestamp)
  const times = [0, -86_400_001, -2, -3, Number.MIN_SAFE_INTEGER]
  assert.deepEqual(timesOf((await produceAt('t', ...times)).body), times)
  assert.deepEqual(timesOf((await api('GET', '/topics/t/messages')).body), times)
  const none = await produceAt('t', -1)
  assert.deepEqual(none.body.fields, {
    'messages.0.timestamp': 'got -1, takes no -1, which in Kafka means that a record has no time',
  })
  const apart = await produceAt('t', Number.MIN_SAFE_INTEGER, 1)
  assert.deepEqual([apart.status, apart.code], [400, 'INVALID_TIMESTAMP'])
  assert.match(apart.body.detail, /for partition 0 are 2\^53 ms apart or more/)
  assert.equal((await produceAt('young', -2)).code, 'INVALID_TIMESTAMP')
  const sought = await api('GET', '/topics/t/messages?timestamp=-2')
  assert.match(sought.body.fields.timestamp, /cannot ask for a time before 1970/)
})

test('a time beyond 2^53 is shown as the nearest number, as the document says, and cannot be produced', async t => {
  const { api, base, send } = await openApi(t)
  await api('POST', '/topics', { name: 't', configs: { 'message.timestamp.after.max.ms': '9223372036854775807' } })
  const batch = encodeBatch([{ value: 'late', timestamp: 0 }])
  for (const at of [27, 35]) batch.writeBigInt64BE(2n ** 53n + 1n, at)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  await send('t', 0, batch)
  assert.equal((await api('GET', '/topics/t/messages/0/0')).body.timestamp, 2 ** 53)
  const { body } = await adminClient(base.replace('/api/v1', '')).ask('GET', '/v3/api-docs')
  assert.match(body.info.description, /are strings, except the `timestamp` of a record, which is then the nearest/)
  assert.match(
    body.components.schemas.Message.properties.timestamp.description,
    /beyond 2\^53 it is the nearest number/i,
  )
  const again = await api('POST', '/topics/t/messages', { messages: [{ timestamp: 2 ** 53 }] })
  assert.deepEqual([again.status, again.code], [400, 'INVALID_REQUEST'])
})

test('if there is no record at an offset, the problem names the offsets with records', async t => {
  const { api } = await openApi(t)
  await api('POST', '/topics', { name: 't', partitions: 2 })
  await api('POST', '/topics/t/messages', { messages: [{ partition: 1 }, { partition: 1 }] })
  const detailOf = async (partition: number, offset: number) =>
    (await api('GET', `/topics/t/messages/${partition}/${offset}`)).body.detail
  assert.equal(await detailOf(0, 0), "Partition 0 of 't' has no record at offset 0; it holds none at all.")
  assert.equal(await detailOf(1, 2), "Partition 1 of 't' has no record at offset 2; it holds 0 to 1.")
})

test('a batch of a few hundred bytes that unpacks to millions of headers is shown, exported and found within bounds', async t => {
  const { api, base, send } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  const at = Date.now() - 10_000
  await send('t', 0, encodeBatch([{ value: 'before', timestamp: at }]))
  await send('t', 0, headerBomb(3_000_000, 'zstd', at + 1))
  await send('t', 0, encodeBatch([{ value: 'after', timestamp: at + 2, headers: [{ key: 'k', value: 'v' }] }]))

  for (const order of ['oldest', 'newest']) {
    const { body } = await api('GET', `/topics/t/messages?order=${order}`)
    const rows = body.messages.map((message: Row) => [message.headers.length, message.headerCount])
    assert.deepEqual(order === 'oldest' ? rows : rows.reverse(), [
      [0, 0],
      [32, 3_000_000],
      [1, 1],
    ])
  }
  const { body } = await api('GET', '/topics/t/messages/0/1')
  assert.deepEqual([body.headers.length, body.headerCount], [1_000, 3_000_000])
  assert.deepEqual(body.undecodedHeaders, {
    status: 'decode-error',
    base64: Buffer.alloc(2_048).toString('base64'),
    bytes: 5_998_000,
    truncated: true,
    reason:
      '2999000 of 3000000 headers are not decoded: at most 1000 headers of a record are decoded, and at most 1048576 bytes of headers.',
  })
  assert.equal('undecodedHeaders' in (await api('GET', '/topics/t/messages/0/2')).body, false)
  const lines = (await (await fetch(`${base}/topics/t/messages/export`)).text()).trim().split('\n')
  assert.deepEqual(JSON.parse(lines[1]!), body)
  const csv = await (await fetch(`${base}/topics/t/messages/export?format=csv`)).text()
  assert.match(csv, /""undecodedBytes"":5998000/)
  assert.equal((await api('GET', `/topics/t/messages?timestamp=${at + 2}`)).body.messages[0].offset, 2)
})

test('a value that unpacks to more than is shown is marked as truncated, and is downloaded as a whole', async t => {
  const { api, base, send } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  const value = Buffer.alloc(20_000_000, 'long')
  await send('t', 0, encodeBatch([{ value }], { compression: 'zstd' }))
  const shown = (await api('GET', '/topics/t/messages/0/0')).body.value
  assert.deepEqual([shown.text.length, shown.bytes, shown.truncated], [8 * 1024 * 1024, 20_000_000, true])
  const csv = await (await fetch(`${base}/topics/t/messages/export?format=csv`)).text()
  assert.match(csv.slice(-100), /,truncated,/)
  const file = await fetch(`${base}/topics/t/messages/0/0/download`)
  assert.equal(file.headers.get('content-type'), 'application/octet-stream')
  assert.ok(Buffer.from(await file.arrayBuffer()).equals(value))
})

test('a compressed value is downloaded unchanged, even if the client would decompress it', async t => {
  const { api, base, send } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  for (const [offset, value] of [
    deflateSync(randomBytes(5_000)),
    gzipSync(randomBytes(100_000)),
    deflateSync(randomBytes(900_000)),
    Buffer.alloc(5_000, 'plain'),
  ].entries()) {
    await send('t', 0, encodeBatch([{ value }], { compression: 'zstd' }))
    const file = await fetch(`${base}/topics/t/messages/0/${offset}/download`)
    assert.equal(file.headers.get('content-encoding'), null)
    assert.ok(Buffer.from(await file.arrayBuffer()).equals(value), `the value at ${offset}`)
  }
})

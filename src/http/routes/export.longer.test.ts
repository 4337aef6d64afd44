import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { type AdminClient, adminClient, signInAt } from '../../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { seededRandom } from '../../base/random.ts'
import { produce } from '../../protocol/messages/produce.ts'
import { encodeBatch } from '../../protocol/records.ts'
import type { Values } from '../../settings/settings.ts'
import type { HttpLimits } from '../listener.ts'

async function openApi(
  t: CleanUp,
  { limits = {}, ...values }: Partial<Values> & { limits?: Partial<HttpLimits> } = {},
) {
  const broker = await startBroker(t, { 'admin.security-enabled': false, ...values }, { http: { limits } })
  const base = `${broker.url}/api/v1`
  return {
    ...broker,
    base,
    api: adminClient(base).ask,
    file: (query: string) => fetch(`${base}/topics/t/messages/export?${query}`),
  }
}

/** Fills a topic with more bytes than the two ends of a connection buffer, even if they are compressed. */
async function fill({ connect: begin, api }: Pick<Awaited<ReturnType<typeof openApi>>, 'connect' | 'api'>) {
  assert.equal((await api('POST', '/topics', { name: 't' })).status, 201)
  const wire = await begin()
  const random = seededRandom(7)
  const records = Array.from({ length: 10 }, () => ({ value: Buffer.from(random.bytes(70_000)).toString('base64') }))
  for (let i = 0; i < 32; i++) {
    const topicData = [{ name: 't', partitionData: [{ index: 0, records: encodeBatch(records) }] }]
    const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 5000, topicData })
    assert.equal(responses[0]!.partitionResponses[0]!.errorCode, 0)
  }
}

/** Begins an export that no client reads. */
async function unread(t: CleanUp, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  t.after(async () => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /api/v1/topics/t/messages/export HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'readable')
  return socket
}

/** Parses RFC 4180, and nothing else. */
function rowsOf(csv: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (let at = 0; at < csv.length; ) {
    const [whole, quoted, plain] = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?:,|\r\n)/y.exec(csv.slice(at)) ?? []
    assert.ok(whole !== undefined, `no field at ${JSON.stringify(csv.slice(at, at + 40))}`)
    row.push(quoted?.replaceAll('""', '"') ?? plain!)
    at += whole.length
    if (!whole.endsWith('\r\n')) continue
    rows.push(row)
    row = []
  }
  return rows
}

const AT = 1_700_000_000_123

test('an export has the records of a page, whole, one line each', async t => {
  const { api, file } = await openApi(t)
  await api('POST', '/topics', { name: 't', partitions: 2 })
  const long = `${'é"\n\u{1f600}'.repeat(30_000)}x`
  const messages = [
    { partition: 0, key: { text: 'k' }, value: { text: long }, timestamp: AT },
    { partition: 1, value: { base64: '//4=' }, headers: [{ key: 'h', value: null }], timestamp: AT + 1 },
    { partition: 0, key: { text: '' }, timestamp: AT + 2 },
  ]
  await api('POST', '/topics/t/messages', { messages })
  const answer = await file('')
  assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="messages-t.ndjson"')
  const text = await answer.text()
  assert.ok(text.endsWith('\n'))
  const lines = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  assert.equal(lines[0].value.text, long)
  const page = (query: string) => api('GET', `/topics/t/messages?previewBytes=65536&${query}`)
  const shown = (await page('')).body.messages
  assert.deepEqual(lines.slice(1), shown.slice(1))
  for (const query of [
    'order=newest&limit=2',
    'partition=0',
    `timestamp=${AT + 1}`,
    'offset=1',
    'contains=k',
    'decode=raw&from=latest',
  ]) {
    const places = (rows: readonly { partition: number; offset: number }[]) =>
      rows.map(each => [each.partition, each.offset])
    const exported = (await (await file(query)).text())
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
    assert.deepEqual(places(exported), places((await page(query)).body.messages), query)
  }
  const { nextCursor } = (await page('limit=1')).body
  const rest = await (await file(`cursor=${nextCursor}`)).text()
  assert.equal(rest.trimEnd().split('\n').length, 2)
})

test('a CSV export is RFC 4180, has base64 for bytes that are not text, and has no formula for a spreadsheet', async t => {
  const { api, file } = await openApi(t)
  await api('POST', '/topics', { name: 't' })
  const texts = [
    ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"],
    ['@SUM(1)', "'@SUM(1)"],
    ['\t=1', "'\t=1"],
    ['＝1+1', "'＝1+1"],
    ['-2+3', "'-2+3"],
    ["'quoted", "''quoted"],
    ['-12.5', '-12.5'],
    ['+49', '+49'],
    ['a,"b"\r\nc', 'a,"b"\r\nc'],
    ['', ''],
  ] as const
  const bytes = { base64: '//4=' }
  const messages = [
    ...texts.map(([text]) => ({ key: { text }, value: { text }, timestamp: AT })),
    {
      key: bytes,
      value: null,
      timestamp: AT + 1,
      headers: [
        { key: '=h', value: { text: '"' } },
        { key: 'b', value: bytes },
      ],
    },
  ]
  await api('POST', '/topics/t/messages', { messages })
  const answer = await file('format=csv')
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8; header=present')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="messages-t.csv"')
  const csv = await answer.text()
  const [head, ...rows] = rowsOf(csv)
  assert.equal(
    head!.join(),
    'partition,offset,timestamp,time,timestampType,key,keyBase64,keyStatus,value,valueBase64,valueStatus,headers,keySchema,valueSchema',
  )
  const at = [String(AT), '2023-11-14T22:13:20.123Z', 'CreateTime']
  assert.deepEqual(
    rows.slice(0, -1),
    texts.map(([, shown], i) => ['0', String(i), ...at, shown, '', 'decoded', shown, '', 'decoded', '[]', '', '']),
  )
  const { length } = texts
  const shown = '[{"key":"=h","value":"\\""},{"key":"b","base64":"//4="}]'
  const last = [
    '0',
    String(length),
    String(AT + 1),
    '2023-11-14T22:13:20.124Z',
    'CreateTime',
    '',
    '//4=',
    'decode-error',
    '',
    '',
    '',
    shown,
    '',
    '',
  ]
  assert.deepEqual(rows.at(-1), last)
  // An empty text is quoted; null is not.
  assert.match(csv, /,"",,decoded,"",,decoded,/)
  assert.equal(await (await file('format=csv&offset=99')).text(), `${head!.join()}\r\n`)
  // Programs read NDJSON, where no text is a formula.
  assert.equal(JSON.parse((await (await file('')).text()).split('\n')[0]!).value.text, texts[0][0])
})

test('an invalid request for an export is refused, and exports can be turned off', async t => {
  const { api } = await openApi(t)
  const status = async (query: string) => (await api('GET', `/topics/t/messages/export?${query}`)).status
  assert.equal(await status(''), 404)
  await api('POST', '/topics', { name: 't' })
  for (const query of [
    'format=xml',
    'limit=0',
    'limit=10000001',
    'offset=9223372036854775808',
    'from=earliest&offset=1',
    'cursor=x',
    'previewBytes=1',
  ])
    assert.equal(await status(query), 400, query)
  const off = await openApi(t, { 'admin.message-export-enabled': false })
  const refused = await off.api('GET', '/topics/t/messages/export')
  assert.deepEqual([refused.status, refused.body.code], [403, 'EXPORT_DISABLED'])
})

test('an error in the middle cuts the connection, compressed or not, and writes a line', async t => {
  const broker = await openApi(t)
  for (const encoding of ['identity', 'br']) {
    await fill(broker)
    const headers = { 'accept-encoding': encoding }
    const answer = await fetch(`${broker.base}/topics/t/messages/export?format=csv`, { headers })
    assert.deepEqual([answer.status, answer.headers.get('content-encoding') ?? 'identity'], [200, encoding])
    assert.equal((await broker.api('DELETE', '/topics/t')).status, 204)
    await assert.rejects(answer.text(), /terminated/)
  }
  const lines = broker
    .log()
    .split('\n')
    .filter(line => line.includes('a stream ended early'))
  assert.equal(lines.length, 2)
  assert.match(lines[0]!, /partition 0 cannot be read further: /)
})

/** Returns whether this many exports can begin at the same time. No client reads them. */
async function haveRoom(t: CleanUp, url: string, count: number): Promise<boolean> {
  const sockets = await Promise.all(Array.from({ length: count }, () => unread(t, url)))
  const heads = sockets.map(socket => socket.read().toString('latin1', 0, 12))
  for (const socket of sockets) socket.destroy()
  return heads.every(head => head === 'HTTP/1.1 200')
}

test('four exports run at a time, and an export whose client disconnects makes room', async t => {
  const broker = await openApi(t)
  await fill(broker)
  const sockets = await Promise.all(Array.from({ length: 4 }, () => unread(t, broker.url)))
  const busy = await broker.api('GET', '/topics/t/messages/export')
  assert.deepEqual([busy.status, busy.body.code], [503, 'BUSY'])
  assert.equal(busy.headers.get('retry-after'), '1')
  sockets[0]!.destroy()
  await eventually('there is room', () => haveRoom(t, broker.url, 1))
  assert.equal(await haveRoom(t, broker.url, 2), false)
  assert.doesNotMatch(broker.log(), /a stream ended early/)
})

test('an export whose reader does not read is cut off', async t => {
  const broker = await openApi(t, { limits: { stallMs: 300 } })
  await fill(broker)
  for (let i = 0; i < 4; i++) await unread(t, broker.url)
  await eventually('all have made room', () => haveRoom(t, broker.url, 4))
})

test('an export is cut when the session of its reader ends, and when the broker drains', async t => {
  const password = 'of the test only'
  const broker = await startBroker(t, { 'admin.password': password }, { http: { limits: { recheckMs: 20 } } })
  const admin = await signInAt(broker.url, 'admin', password)
  await fill({ ...broker, api: (method, path, body) => admin.ask(method, `/api/v1${path}`, body) })
  const begin = async ({ cookie }: AdminClient) => {
    const answer = await fetch(`${broker.url}/api/v1/topics/t/messages/export`, { headers: { cookie } })
    assert.equal(answer.status, 200)
    return answer
  }
  const other = await signInAt(broker.url, 'admin', password)
  const ending = await begin(other)
  const lasting = await begin(admin)
  assert.equal((await other.ask('POST', '/api/v1/auth/logout')).status, 204)
  await assert.rejects(ending.text(), /terminated/)
  await broker.broker.close()
  await assert.rejects(lasting.text(), /terminated/)
  assert.doesNotMatch(broker.log(), /a stream ended early/)
})

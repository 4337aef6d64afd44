import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient, signInAt } from '../../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'

interface Event {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: each test reads their members without types
  readonly data: any
}

/** Reads server-sent events until it is told to stop or the stream ends. */
async function listen(t: CleanUp, url: string, headers: Record<string, string> = {}) {
  const stop = new AbortController()
  t.after(async () => stop.abort())
  const response = await fetch(url, { signal: stop.signal, headers })
  assert.equal(response.status, 200, await (response.ok ? '' : response.text()))
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const events: Event[] = []
  let isOver = false
  const read = async () => {
    let text = ''
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body!) {
        text += decoder.decode(chunk as Uint8Array, { stream: true })
        for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
          const lines = text.slice(0, at).split('\n')
          text = text.slice(at + 2)
          const field = (name: string) => lines.find(line => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
          const data = field('data')
          events.push({ id: field('id'), event: field('event'), data: data === '' ? null : JSON.parse(data) })
        }
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error
    } finally {
      isOver = true
    }
  }
  const reading = read()
  return {
    events,
    texts: () =>
      events.flatMap(({ data }) => data?.messages ?? []).map((each: { value: { text: string } }) => each.value.text),
    get isOver() {
      return isOver
    },
    async stop() {
      stop.abort()
      await reading
    },
  }
}

async function openApi(t: CleanUp) {
  const broker = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const base = `${broker.url}/api/v1`
  const api = adminClient(base).ask
  await api('POST', '/topics', { name: 't', partitions: 2 })
  const send = (...texts: string[]) =>
    api('POST', '/topics/t/messages', {
      messages: texts.map((text, i) => ({ partition: i % 2, value: { text } })),
    })
  return { ...broker, base, api, send }
}

test('a tail sends new records, and continues at the cursor of its reader', async t => {
  const { base, send, api } = await openApi(t)
  await send('before')
  const tail = await listen(t, `${base}/topics/t/messages/tail?decode=utf8`)
  await eventually('the tail begins', () => tail.events.length === 1)
  assert.equal(tail.events[0]!.event, 'begin')
  await send('one', 'two')
  await eventually('both have come', () => tail.texts().length === 2)
  const { id } = tail.events.at(-1)!
  await tail.stop()

  await send('three')
  const resumed = await listen(t, `${base}/topics/t/messages/tail?decode=utf8`, { 'last-event-id': id })
  await send('four')
  await eventually('nothing is missing', () => resumed.texts().join() === 'three,four')
  await resumed.stop()

  const page = await api('GET', '/topics/t/messages?limit=1')
  await send('five')
  const after = await listen(t, `${base}/topics/t/messages/tail?decode=utf8&cursor=${page.body.tailCursor}`)
  await eventually('what came after the page is there', () => after.texts().join() === 'five')
  const filtered = await listen(t, `${base}/topics/t/messages/tail?decode=utf8&partition=0&contains=yes`)
  await send('yes 1', 'yes 2', 'no')
  await send('yes 3')
  await eventually('only what was asked for', () => filtered.texts().join() === 'yes 1,yes 3')
})

test('a tail ends when its topic is deleted, and when the broker drains', async t => {
  const { base, api, broker } = await openApi(t)
  const gone = await listen(t, `${base}/topics/t/messages/tail`)
  await api('DELETE', '/topics/t')
  await eventually('the end event has come', () => gone.isOver)
  assert.deepEqual([gone.events.at(-1)!.event, gone.events.at(-1)!.data.code], ['end', 'UNKNOWN_TOPIC_ID'])
  await api('POST', '/topics', { name: 't' })
  const drained = await listen(t, `${base}/topics/t/messages/tail`)
  await eventually('it begins', () => drained.events.length === 1)
  await broker.close()
  await eventually('the broker did not wait', () => drained.isOver)
})

test('a broker serves a limited number of tails, and one that ends makes room', async t => {
  const { base, api } = await openApi(t)
  const tails = []
  for (let i = 0; i < 16; i++) tails.push(await listen(t, `${base}/topics/t/messages/tail`))
  const refused = await api('GET', '/topics/t/messages/tail')
  assert.deepEqual([refused.status, refused.body.code], [503, 'BUSY'])
  assert.equal(refused.headers.get('retry-after'), '1')
  // A refused tail takes no place.
  assert.equal((await api('GET', '/topics/t/messages/tail?cursor=x')).status, 503)
  await tails[0]!.stop()
  await eventually('there is room again', async () => {
    const answer = await api('GET', '/topics/none/messages/tail')
    return answer.status === 404
  })
  for (let i = 0; i < 20; i++) assert.equal((await api('GET', '/topics/none/messages/tail')).status, 404)
  await listen(t, `${base}/topics/t/messages/tail`)
})

test('a tail ends when the session of its reader does, and others go on', async t => {
  const password = 'of the test only'
  const { url } = await startBroker(t, { 'admin.password': password }, { http: { limits: { recheckMs: 20 } } })
  const one = await signInAt(url, 'admin', password)
  const other = await signInAt(url, 'admin', password)
  await one.ask('POST', '/api/v1/topics', { name: 't' })
  const path = `${url}/api/v1/topics/t/messages/tail?decode=utf8`
  const ending = await listen(t, path, { cookie: one.cookie })
  const lasting = await listen(t, path, { cookie: other.cookie })
  assert.equal((await one.ask('POST', '/api/v1/auth/logout')).status, 204)
  await eventually('the session is over', () => ending.isOver)
  await other.ask('POST', '/api/v1/topics/t/messages', { messages: [{ value: { text: 'still' } }] })
  await eventually('the other tail gets the record', () => lasting.texts().join() === 'still')
})

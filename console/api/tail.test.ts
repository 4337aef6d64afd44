import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { EventParser, type TailEvent, tail } from './tail.ts'

test('a stream of events is read wherever its pieces end', () => {
  const text =
    'retry: 2000\nid: c0\nevent: begin\ndata: {}\n\n: heartbeat\n\nid: c1\nevent: messages\ndata: {"messages":[]}\n\n'
  const expected = [
    { name: 'begin', id: 'c0', data: '{}' },
    { name: 'messages', id: 'c1', data: '{"messages":[]}' },
  ]
  for (let size = 1; size <= text.length; size++) {
    const parser = new EventParser()
    const events = []
    for (let at = 0; at < text.length; at += size) events.push(...parser.push(text.slice(at, at + size)))
    assert.deepEqual(events, expected, `pieces of ${size}`)
  }
})

test('an event keeps the last id, several lines of data, and the name of its own only', () => {
  const parser = new EventParser()
  assert.deepEqual(parser.push('id:7\nevent:a\ndata:one\ndata: two\ndata\n\ndata:  three\n\nevent: b\n\n'), [
    { name: 'a', id: '7', data: 'one\ntwo\n' },
    { name: 'message', id: '7', data: ' three' },
  ])
})

test('a tail that breaks continues at the cursor of its last event, and ends with the topic', async t => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    if (asked.length === 1) {
      response.write('id: c1\nevent: begin\ndata: {}\n\nid: c2\nevent: dropped\ndata: {"count":4}\n\n')
      setTimeout(() => response.destroy(), 50)
    } else response.end('event: end\ndata: {"code":"UNKNOWN_TOPIC_ID","detail":"The topic is gone."}\n\n')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { readonly port: number }
  const fetched = globalThis.fetch
  t.mock.method(globalThis, 'fetch', (path: string, init: RequestInit) =>
    fetched(`http://127.0.0.1:${port}${path}`, init),
  )

  const events: TailEvent[] = []
  const query = { partition: 2, contains: 'a b' }
  for await (const event of tail({ topic: 'a/b', query, cursor: null }, t.signal)) events.push(event)

  assert.deepEqual(
    events.map(({ kind }) => kind),
    ['begin', 'dropped', 'end'],
  )
  assert.deepEqual(asked, [
    '/api/v1/topics/a%2Fb/messages/tail?partition=2&contains=a+b',
    '/api/v1/topics/a%2Fb/messages/tail?partition=2&contains=a+b&cursor=c2',
  ])
})

test('a tail that is left closes its stream', async t => {
  const closed = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('id: c1\nevent: begin\ndata: {}\n\n')
    request.on('close', () => closed.resolve())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { readonly port: number }
  const fetched = globalThis.fetch
  t.mock.method(globalThis, 'fetch', (path: string, init: RequestInit) =>
    fetched(`http://127.0.0.1:${port}${path}`, init),
  )

  const left = new AbortController()
  await assert.rejects(
    async () => {
      for await (const _ of tail({ topic: 'orders', query: {}, cursor: null }, left.signal))
        left.abort(new Error('left'))
    },
    { message: 'left' },
  )
  await closed.promise
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverEvents } from './server-events.ts'

async function read(...chunks: readonly string[]) {
  async function* bytes() {
    for (const chunk of chunks) yield Buffer.from(chunk, 'latin1')
  }
  const events = []
  for await (const event of serverEvents(bytes())) events.push(event)
  return events
}

test('events are read however the bytes are split into chunks', async () => {
  const text =
    'retry: 2000\nid: c1\nevent: begin\ndata: {}\n\n: heartbeat\n\nid: c2\r\nevent: messages\r\ndata: a\r\ndata: b\r\n\r\ndata:x\n\n'
  const expected = [
    { type: 'begin', data: '{}', id: 'c1' },
    { type: 'messages', data: 'a\nb', id: 'c2' },
    { type: 'message', data: 'x', id: 'c2' },
  ]
  assert.deepEqual(await read(text), expected)
  assert.deepEqual(await read(...text), expected)
})

test('an event without an empty line behind it is ignored, and a letter may come in two chunks', async () => {
  assert.deepEqual(await read('data: \xc3', '\xa9\n\n', 'data: cut off'), [{ type: 'message', data: 'é', id: null }])
})

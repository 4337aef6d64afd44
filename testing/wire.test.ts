import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { encodeResponse } from '../src/protocol/codec.ts'
import { headerLookup, readRequestHeader, responseHeader } from '../src/protocol/header.ts'
import { messages } from '../src/protocol/messages/all.ts'
import { heartbeat } from '../src/protocol/messages/heartbeat.ts'
import { connect } from './wire.ts'

/**
 * Starts a server that calls `answer` with each request's socket, correlation id and client id. Resolves with a
 * connection.
 */
async function serve(t: TestContext, answer: (socket: Socket, correlationId: number, clientId: string | null) => void) {
  const server = createServer(socket => {
    let received = Buffer.alloc(0)
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const end = 4 + received.readInt32BE(0)
        const header = readRequestHeader(received.subarray(4, end), headerLookup(messages))
        received = received.subarray(end)
        answer(socket, header.correlationId, header.clientId)
      }
    })
    socket.on('error', () => undefined)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const wire = await connect({ port: (server.address() as AddressInfo).port })
  t.after(() => wire.close())
  return wire
}

function frame(correlationId: number, errorCode: number): Buffer {
  const body = Buffer.concat([
    responseHeader(heartbeat, 4, correlationId),
    ...encodeResponse(heartbeat, 4, { errorCode }),
  ])
  const size = Buffer.alloc(4)
  size.writeInt32BE(body.length)
  return Buffer.concat([size, body])
}

const beat = { groupId: 'g', generationId: 1, memberId: 'm' }

test('pipelined answers reach their requests whatever the cuts between the bytes are', async t => {
  const asked: [number, string | null][] = []
  const wire = await serve(t, (socket, correlationId, clientId) => {
    asked.push([correlationId, clientId])
    if (asked.length < 3) return
    const answers = Buffer.concat([frame(asked[1]![0], 11), frame(asked[0]![0], 10), frame(asked[2]![0], 12)])
    for (const byte of answers) socket.write(Buffer.of(byte))
  })
  const answers = await Promise.all([
    wire.send(heartbeat, 4, beat),
    wire.send(heartbeat, 4, beat, { clientId: null }),
    wire.send(heartbeat, 4, beat, { correlationId: -5, clientId: 'c' }),
  ])
  assert.deepEqual(
    answers.map(answer => answer.errorCode),
    [10, 11, 12],
  )
  assert.deepEqual(asked, [
    [1, 'wire'],
    [2, null],
    [-5, 'c'],
  ])
})

test('an answer that belongs to no request goes to the caller of answer()', async t => {
  const wire = await serve(t, (socket, correlationId) => void socket.write(frame(correlationId, 7)))
  await wire.post(heartbeat, 4, beat, { correlationId: 77 })
  const answer = await wire.answer()
  assert.equal(answer.readInt32BE(0), 77)
})

test('the end of the connection rejects pending and later requests', async t => {
  const wire = await serve(t, socket => socket.destroy())
  await assert.rejects(() => wire.send(heartbeat, 4, beat), /closed|ECONNRESET/)
  await wire.closed
  await assert.rejects(() => wire.send(heartbeat, 4, beat), /closed|ECONNRESET/)
  await assert.rejects(() => wire.answer(), /closed|ECONNRESET/)
  await assert.rejects(() => wire.raw(Buffer.of(1)), /closed|ECONNRESET/)
})

test('an answer that is malformed fails its request', async t => {
  const wire = await serve(t, (socket, correlationId) => {
    const bytes = Buffer.concat([frame(correlationId, 7), Buffer.of(1)])
    bytes.writeInt32BE(bytes.length - 4)
    socket.write(bytes)
  })
  await assert.rejects(() => wire.send(heartbeat, 4, beat), /HeartbeatResponse: 1 bytes are left over/)
})

// Clients flood the broker with requests without waiting for answers, on budgets from 1 MB to the default. Another
// client's small request must still be answered within a second.

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { batchOf, fetchFrom, type Ground, produceTo, startGround } from '../../../testing/kafka.ts'
import { encodeRequest } from '../../protocol/codec.ts'
import { requestHeader } from '../../protocol/header.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import type { Api, RequestInput } from '../../protocol/schema.ts'

const MB = 2 ** 20

/** An answer that takes longer than this has waited for the flood. */
const SOON_MS = 1000

function frameOf<A extends Api>(api: A, version: number, body: RequestInput<A>): Buffer {
  const parts = [requestHeader(api, version, 1, 'storm'), ...encodeRequest(api, version, body)]
  const size = Buffer.alloc(4)
  size.writeInt32BE(parts.reduce((sum, part) => sum + part.length, 0))
  return Buffer.concat([size, ...parts])
}

const repeat = (frame: Buffer, bytes: number) =>
  Buffer.concat(Array.from({ length: bytes / frame.length }, () => frame))

/** Each client sends these bytes and does not read its answers. */
async function flood(t: TestContext, ground: Ground, clients: number, bytes: Buffer): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let i = 0; i < clients; i++) {
    const socket = connect(ground.port, '127.0.0.1')
    t.after(() => void socket.destroy())
    socket.on('error', () => {})
    socket.pause()
    await new Promise<void>(resolve => socket.once('connect', () => resolve()))
    socket.write(bytes)
    sockets.push(socket)
  }
  return sockets
}

async function askWithinASecond(ground: Ground): Promise<void> {
  const wire = await ground.connect()
  const askedAtMs = performance.now()
  await wire.send(metadata, 4, { topics: [{ name: 't' }] })
  const tookMs = performance.now() - askedAtMs
  assert.ok(tookMs < SOON_MS, `another client waited for ${tookMs} ms`)
  await wire.close()
}

/** Sends requests during the flood and after it. */
async function assertServed(ground: Ground, sockets: readonly Socket[]): Promise<void> {
  for (let asked = 0; asked < 5; asked++) await askWithinASecond(ground)
  for (const socket of sockets) socket.destroy()
  await askWithinASecond(ground)
  await eventually('nothing is pending', async () => (await ground.sample('svc_broker_pending_bytes')) === 0)
  assert.equal(await ground.sample('svc_broker_backpressure_connections'), 0)
}

const budgetOf = (megabytes: number) => ({
  'broker.global-max-pending-bytes': megabytes * MB,
  'broker.global-resume-pending-bytes': (megabytes * MB) / 2,
})

for (const megabytes of [1, 4, 16, 400]) {
  const budget = budgetOf(megabytes)

  test(`thousands of pipelined fetches of each of 60 clients, ${megabytes} MB`, async t => {
    const ground = await startGround(t, { ...budget, 'broker.in-flight-limit': 20 })
    const bytes = repeat(frameOf(fetch, 12, fetchFrom(0)), 250_000)
    await assertServed(ground, await flood(t, ground, 60, bytes))
  })

  test(`pipelined fetches of 1 MB whose answers are not taken, ${megabytes} MB`, async t => {
    const ground = await startGround(t, budget)
    const wire = await ground.connect()
    for (let i = 0; i < 8; i++) await produceTo(wire, batchOf([Buffer.alloc(900_000, i)]))
    const bytes = repeat(frameOf(fetch, 12, fetchFrom(0)), 5_000)
    await assertServed(ground, await flood(t, ground, 30, bytes))
  })

  test(`pipelined requests for the metadata of 100 topics whose answers are not taken, ${megabytes} MB`, async t => {
    const ground = await startGround(t, budget)
    const wire = await ground.connect()
    for (let i = 0; i < 100; i++) await wire.send(metadata, 4, { topics: [{ name: `${'x'.repeat(200)}${i}` }] })
    const bytes = repeat(frameOf(metadata, 4, { topics: null }), 10_000)
    await assertServed(ground, await flood(t, ground, 6, bytes))
  })

  test(`requests that are begun and not finished, ${megabytes} MB`, async t => {
    const ground = await startGround(t, budget)
    const clients = 8
    const sent = Buffer.alloc(Math.ceil((1.5 * megabytes * MB) / clients))
    sent.writeInt32BE(Math.min(sent.length * 2, 90 * MB))
    const sockets = await flood(t, ground, clients, sent)
    await eventually(
      'all is sent',
      async () => sockets.every(each => each.destroyed || each.writableLength === 0),
      60_000,
    )
    await assertServed(ground, sockets)
  })
}

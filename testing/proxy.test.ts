import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { seededRandom } from '../src/base/random.ts'
import { eventually } from './eventually.ts'
import { resetSocket, startProxy, type TcpProxy } from './proxy.ts'

/** Starts an echo server with a proxy in front of it. `heard` returns the bytes that reached the server. */
async function startEcho(
  t: TestContext,
  seed = 1,
): Promise<{ proxy: TcpProxy; heard: () => number; seen: () => Promise<void> }> {
  let heard = 0
  let waiting: (() => void)[] = []
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', chunk => {
      heard += chunk.length
      socket.write(chunk)
      for (const wake of waiting.splice(0)) wake()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  const proxy = await startProxy({ target: { port: address.port }, random: seededRandom(seed) })
  t.after(async () => {
    await proxy.close()
    for (const socket of sockets) socket.destroy()
    await new Promise(resolve => server.close(resolve))
    waiting = []
  })
  return { proxy, heard: () => heard, seen: () => new Promise(resolve => waiting.push(resolve)) }
}

interface Client {
  send(bytes: string): void
  /** Resolves once the client has received this many bytes in total. */
  received(bytes: number): Promise<string>
  readonly text: () => string
  /** The error code with which the connection ended; null if it ended without an error. */
  readonly ended: Promise<string | null>
}

async function openClient(t: TestContext, proxy: TcpProxy): Promise<Client> {
  const socket = connect({ port: proxy.port, host: '127.0.0.1' })
  t.after(() => socket.destroy())
  let text = ''
  let code: string | null = null
  let wake = () => {}
  socket.on('data', chunk => {
    text += chunk
    wake()
  })
  socket.on('error', error => {
    code = 'code' in error ? String(error.code) : error.message
  })
  const ended = new Promise<string | null>(resolve => socket.on('close', () => resolve(code)))
  await Promise.race([new Promise(resolve => socket.once('connect', resolve)), ended])
  return {
    send: bytes => void socket.write(bytes),
    async received(bytes) {
      while (text.length < bytes) await new Promise<void>(resolve => (wake = resolve))
      return text
    },
    text: () => text,
    ended,
  }
}

test('without a fault, bytes pass unchanged in both directions, large amounts too', async t => {
  const { proxy } = await startEcho(t)
  const client = await openClient(t, proxy)
  const text = 'abcdefgh'.repeat(400_000)
  client.send(text)
  assert.equal(await client.received(text.length), text)
  assert.equal(proxy.connections, 1)
})

test('a delay makes bytes late and keeps their order', async t => {
  const { proxy } = await startEcho(t)
  const client = await openClient(t, proxy)
  proxy.delay(20, 10)
  const begunAt = systemClock.monotonic()
  for (let i = 0; i < 10; i++) client.send(String(i))
  assert.equal(await client.received(10), '0123456789')
  assert(systemClock.monotonic() - begunAt >= 39, 'two crossings of 20 ms each')
})

test('a throttle bounds the rate', async t => {
  const { proxy } = await startEcho(t)
  const client = await openClient(t, proxy)
  proxy.throttle(1_000_000)
  const begunAt = systemClock.monotonic()
  client.send('x'.repeat(100_000))
  await client.received(100_000)
  assert(systemClock.monotonic() - begunAt >= 90, '100 kB at 1 MB/s')
})

test('a freeze to the client lets the server work while the client receives nothing; heal lets the bytes flow', async t => {
  const { proxy, heard, seen } = await startEcho(t)
  const client = await openClient(t, proxy)
  proxy.freeze('to-client')
  const reached = seen()
  client.send('hello')
  await reached
  assert.equal(heard(), 5)
  assert.equal(client.text(), '')
  await proxy.heal()
  assert.equal(await client.received(5), 'hello')
})

test('a freeze to the server keeps bytes from the server', async t => {
  const { proxy, heard } = await startEcho(t)
  const client = await openClient(t, proxy)
  client.send('a')
  await client.received(1)
  proxy.freeze('to-server')
  client.send('b')
  const other = await openClient(t, proxy)
  other.send('c')
  await new Promise<void>(resolve => systemClock.timer(20, resolve))
  assert.equal(heard(), 1)
  await proxy.heal()
  await Promise.all([client.received(2), other.received(1)])
})

test('a swallowed reply resets the connection after the server did its work, once', async t => {
  const { proxy, heard } = await startEcho(t)
  const client = await openClient(t, proxy)
  client.send('a')
  await client.received(1)
  proxy.swallowNextReply()
  client.send('b')
  assert.equal(await client.ended, 'ECONNRESET')
  assert.equal(client.text(), 'a')
  assert.equal(heard(), 2)
  const next = await openClient(t, proxy)
  next.send('c')
  assert.equal(await next.received(1), 'c')
})

test('a cut lets an exact number of bytes through, counted over all connections', async t => {
  const { proxy, heard } = await startEcho(t)
  const client = await openClient(t, proxy)
  proxy.cutAfter(7, 'to-server')
  client.send('12345')
  await client.received(5)
  client.send('67890')
  await client.ended
  const next = await openClient(t, proxy)
  next.send('next')
  await next.received(4)
  assert.equal(heard(), 7 + 4)
})

test('a reset ends every connection with an error; new ones are served', async t => {
  const { proxy } = await startEcho(t)
  const clients = [await openClient(t, proxy), await openClient(t, proxy)]
  for (const client of clients) {
    client.send('x')
    await client.received(1)
  }
  proxy.reset()
  assert.deepEqual(await Promise.all(clients.map(client => client.ended)), ['ECONNRESET', 'ECONNRESET'])
  const next = await openClient(t, proxy)
  next.send('y')
  await next.received(1)
})

test('refuse rejects new connections and keeps open ones; heal accepts on the same port', async t => {
  const { proxy } = await startEcho(t)
  const standing = await openClient(t, proxy)
  await proxy.refuse()
  const refused = await openClient(t, proxy)
  assert.equal(await refused.ended, 'ECONNREFUSED')
  standing.send('still')
  await standing.received(5)
  await proxy.heal()
  const next = await openClient(t, proxy)
  next.send('again')
  assert.equal(await next.received(5), 'again')
})

test('the proxy resets the client if the target is down', async t => {
  const { proxy } = await startEcho(t)
  const closed = createServer()
  await once(closed.listen(0, '127.0.0.1'), 'listening')
  const address = closed.address()
  assert(address !== null && typeof address === 'object')
  await new Promise(resolve => closed.close(resolve))
  const lost = await startProxy({ target: { port: address.port } })
  t.after(() => lost.close())
  const client = await openClient(t, lost)
  await client.ended
  assert.equal(proxy.connections, 0)
})

test('the same seed chooses the same faults', async t => {
  const run = async (seed: number) => {
    const { proxy } = await startEcho(t, seed)
    const chosen: string[] = []
    for (let i = 0; i < 20; i++) {
      chosen.push(await proxy.disturb())
      await proxy.heal()
    }
    return chosen
  }
  const first = await run(7)
  assert.deepEqual(await run(7), first)
  assert(new Set(first.map(fault => fault.split(' ')[0])).size >= 4, first.join(', '))
})

test('a socket that is reset while it is ending is closed, and Node does not keep it forever', async t => {
  const { proxy } = await startEcho(t)
  const open = () => process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
  const before = open()
  const socket = connect(proxy.port, '127.0.0.1')
  const failures: Error[] = []
  socket.on('error', error => failures.push(error))
  await once(socket, 'connect')
  socket.end()
  resetSocket(socket)
  setImmediate(() => resetSocket(socket))
  await eventually('the socket is closed', () => open() <= before)
  assert.deepEqual(failures, [])
})

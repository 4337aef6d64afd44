// Tests one connection: against Redis if Redis must understand it, and against a simulated server if Redis would not
// behave as the test needs.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { createSecureContext } from 'node:tls'
import type { CleanUp } from '../../../../testing/broker.ts'
import { makeCertificate } from '../../../../testing/certificate.ts'
import { eventually } from '../../../../testing/eventually.ts'
import { noRedis, startRedis } from '../../../../testing/redis.ts'
import { systemClock } from '../../../base/clock.ts'
import { type Credentials, connect, type Endpoint } from './connection.ts'
import type { Argument } from './links.ts'
import { RedisError } from './redis-error.ts'

const OPEN: Credentials = { username: null, password: null, database: 0, secureContext: null }

/** Returns a connection, and the reason of each loss that it reports. */
async function connected(cleanUp: CleanUp, endpoint: Endpoint, credentials: Partial<Credentials> = {}) {
  const lost: Error[] = []
  const connection = await connect(
    endpoint,
    { ...OPEN, ...credentials },
    { withinMs: 5000, clock: systemClock, onLost: error => void lost.push(error) },
  )
  cleanUp.after(async () => connection.destroy())
  return { connection, lost }
}

/** Starts a server for one connection that sends only the bytes that a test gives it. */
async function startActor(cleanUp: CleanUp) {
  const accepted = Promise.withResolvers<Socket>()
  const server = createServer(socket => {
    socket.on('error', () => {})
    accepted.resolve(socket)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanUp.after(async () => {
    server.close()
    ;(await accepted.promise).destroy()
  })
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port, accepted: accepted.promise }
}

test('bytes of any size come back unchanged, with TLS and without', { skip: noRedis }, async t => {
  const certificate = await makeCertificate(t)
  const secureContext = createSecureContext({ ca: readFileSync(certificate.certificateFile) })
  const servers = [
    { redis: await startRedis(t), secureContext: null },
    { redis: await startRedis(t, { tls: certificate }), secureContext },
  ]
  for (const { redis, secureContext } of servers) {
    const { connection } = await connected(t, redis, { secureContext })
    const values = [0, 1, 4095, 4096, 65_536, 5_000_000].map(length => Buffer.alloc(length, `${length} `))
    const replies = values.map(async (value, at) => {
      const [set, got] = await Promise.all([
        connection.send(['SET', `k${at}`, value]),
        connection.send(['GET', `k${at}`]),
      ])
      // The output of a difference of five megabytes would be too long to read.
      return set === 'OK' && value.equals(got as Buffer)
    })
    assert.deepEqual(
      await Promise.all(replies),
      values.map(() => true),
    )
    assert.deepEqual(await connection.send(['MGET', 'k1', 'k9', 'k0']), [values[1], null, values[0]])
  }
})

test('sendAll resolves with the reply of the last command, after it has reported errors of the others', {
  skip: noRedis,
}, async t => {
  const { connection } = await connected(t, await startRedis(t))
  const refused: unknown[] = []
  const commands = [['SET', 'k', 'v'], ['NO'], ['HGET', 'k', 'f'], ['GET', 'k']]
  const replied = connection.sendAll(commands, (at, error) => refused.push([at, error.code])).then(String)
  assert.deepEqual(await Promise.all([replied, connection.send(['PING'])]), ['v', 'PONG'])
  assert.deepEqual(refused, [
    [1, 'ERR'],
    [2, 'WRONGTYPE'],
  ])
  await assert.rejects(
    connection.sendAll([['PING'], ['HGET', 'k', 'f']], () => assert.fail('the last error is the outcome')),
    (error: Error) => error instanceof RedisError && error.code === 'WRONGTYPE',
  )
})

test('the connection uses password, user and database of the credentials', { skip: noRedis }, async t => {
  const redis = await startRedis(t, { password: 's3cret', acl: ['user ketch on >other ~* &* +@all'] })
  const { connection } = await connected(t, redis, { username: 'ketch', password: 'other', database: 3 })
  assert.equal(String(await connection.send(['ACL', 'WHOAMI'])), 'ketch')
  assert.match(String(await connection.send(['CLIENT', 'INFO'])), / db=3 /)
  const wrong = connect(
    redis,
    { ...OPEN, password: 'wrong', database: 3 },
    { withinMs: 5000, clock: systemClock, onLost: () => assert.fail('it never stood') },
  )
  await assert.rejects(wrong, (error: Error) => error instanceof RedisError && error.code === 'WRONGPASS')
})

test('a connect to a server that accepts but never replies fails in time', async t => {
  const actor = await startActor(t)
  const greeting = connect(
    actor,
    { ...OPEN, password: 'x' },
    { withinMs: 50, clock: systemClock, onLost: () => assert.fail('it never stood') },
  )
  await assert.rejects(greeting, /^Error: no answer within 50 ms$/)
  const socket = await actor.accepted
  socket.resume()
  await once(socket, 'close')
})

test('the commands of one turn are sent together, in call order', async t => {
  const actor = await startActor(t)
  const { connection } = await connected(t, actor)
  const socket = await actor.accepted
  const chunks: string[] = []
  socket.on('data', chunk => chunks.push(chunk.toString()))
  const sent = [connection.send(['A']), connection.sendAll([['B'], ['C']], () => {}), connection.send(['D'])]
  await eventually('the commands', () => chunks.length > 0)
  assert.deepEqual(chunks, ['ABCD'.replace(/./g, '*1\r\n$1\r\n$&\r\n')])
  socket.write('+a\r\n+b\r\n+c\r\n+d\r\n')
  assert.deepEqual(await Promise.all(sent), ['a', 'c', 'd'])
})

test('a slow server receives exactly the bytes that were sent', async t => {
  const actor = await startActor(t)
  const { connection } = await connected(t, actor)
  const socket = await actor.accepted
  socket.pause()
  const replies: unknown[] = []
  let expected = ''
  // More bytes than the operating system buffers between two sockets, in many turns.
  for (let at = 0; at < 4000; at++) {
    const value = `${at} `.repeat(500)
    expected += `*2\r\n$4\r\nECHO\r\n$${value.length}\r\n${value}\r\n`
    connection.send(['ECHO', Buffer.from(value)]).then(
      reply => replies.push(reply),
      error => replies.push(error),
    )
    if (at % 10 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  let received = ''
  socket.on('data', chunk => (received += chunk.toString('latin1'))).resume()
  await eventually('all bytes', () => received.length >= expected.length, 60_000)
  assert.ok(received === expected)
  socket.write('+ok\r\n'.repeat(4000))
  await eventually('all replies', () => replies.length === 4000)
  assert.deepEqual([...new Set(replies)], ['ok'])
})

test('a loss is reported once, before the commands in flight are rejected with the same reason', async t => {
  const actor = await startActor(t)
  const { connection, lost } = await connected(t, actor)
  const outcomes = [connection.send(['A']), connection.sendAll([['B'], ['C']], () => {})].map(reply =>
    reply.catch((error: unknown) => [error, lost.length]),
  )
  ;(await actor.accepted).end()
  const [reason] = await Promise.all(outcomes).then(all => {
    assert.deepEqual(all, [
      [lost[0], 1],
      [lost[0], 1],
    ])
    return lost
  })
  assert.match(reason!.message, /closed unexpectedly/)
  await assert.rejects(connection.send(['D']), reason!)
  assert.equal(lost.length, 1)
})

test('destroy does not report a loss', async t => {
  const actor = await startActor(t)
  const { connection, lost } = await connected(t, actor)
  const socket = await actor.accepted
  socket.resume()
  const reply = connection.send(['A'])
  connection.destroy()
  await assert.rejects(reply, /given up/)
  await assert.rejects(connection.send(['B']), /given up/)
  await once(socket, 'close')
  assert.deepEqual(lost, [])
})

test('malformed bytes and an unexpected reply break the connection with a clear reason', async t => {
  const asked: readonly Argument[] = ['A']
  for (const { said, why, isAsked } of [
    { said: '+a\r\nHTTP/1.1\r\n', why: /a line begins with "HTTP/, isAsked: true },
    {
      said: '+a\r\n-ERR max number of clients reached\r\n',
      why: /an unexpected reply: ERR max number of clients/,
      isAsked: true,
    },
    { said: ':7\r\n', why: /an unexpected reply: 7/, isAsked: false },
  ]) {
    const actor = await startActor(t)
    const { connection, lost } = await connected(t, actor)
    const reply = isAsked ? connection.send(asked) : null
    const socket = await actor.accepted
    socket.resume()
    socket.write(said)
    await once(socket, 'close')
    if (reply !== null) assert.equal(await reply, 'a')
    assert.equal(lost.length, 1)
    assert.match(lost[0]!.message, why)
  }
})

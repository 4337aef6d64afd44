// A broker that ends, or starts, while its Redis is away.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { batchOf, produceTo } from '../../testing/kafka.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis, startRedisCluster } from '../../testing/redis.ts'
import { connect } from '../../testing/wire.ts'
import { runCommand } from '../command.ts'
import { kcat } from '../kcat/client.ts'

const skip = kcat.absence() ?? noRedis

for (const [what, hurt] of [
  ['dead', 'SIGKILL'],
  ['frozen', 'SIGSTOP'],
] as const)
  test(`with a ${what} Redis and a produce in flight a broker ends within its drain timeout, and logs the work that it left`, {
    skip,
  }, async t => {
    const redis = await startRedis(t)
    const broker = await startBrokerProcess(t, { settings: { 'svc.redis.uri': redis.uri } })
    await runCommand('kcat', ['-P', '-b', broker.address, '-t', 't'], { input: 'one' })
    const wire = await connect({ port: broker.port })
    t.after(() => wire.close())
    if (hurt === 'SIGKILL') await redis.stop(hurt)
    else redis.pause()
    const inFlight = produceTo(wire, batchOf(['two']), { timeoutMs: 60_000 }).catch(() => null)
    await new Promise(resolve => wire.socket.write('', resolve))
    // A broker that takes longer is ended by its own watchdog, with status 70.
    assert.equal(await broker.kill('SIGTERM'), 0, broker.output())
    // The request was refused or its connection was closed. It was never acknowledged.
    const row = await inFlight
    assert.notEqual(row?.errorCode, 0)
    assert.match(broker.output(), /the handover takes too long|the store does not answer/)
    assert.doesNotMatch(broker.output(), /did not close in time/)
  })

test('a start waits for a cluster if one of its primaries is away, and logs that', { skip }, async t => {
  const { uri, primaries } = await startRedisCluster(t)
  const away = primaries[2]!
  await away.stop('SIGKILL')
  // This server takes the port of the primary until the broker has tried to connect.
  const tried = Promise.withResolvers<void>()
  const closing = createServer(socket => {
    socket.destroy()
    tried.resolve()
  })
  await once(closing.listen(away.port, away.host), 'listening')
  const starting = startBrokerProcess(t, { settings: { 'svc.redis.uri': uri, 'svc.redis.cluster': 'true' } })
  starting.catch(tried.reject)
  await tried.promise
  await new Promise(resolve => closing.close(resolve))
  await away.start()
  const broker = await starting
  const expected = `waiting for the whole Redis Cluster, \\d of 60 s: .*127\\.0\\.0\\.1:${away.port}`
  assert.match(broker.output(), new RegExp(expected))
  await runCommand('kcat', ['-P', '-b', broker.address, '-t', 't'], { input: 'one' })
  assert.equal((await runCommand('kcat', ['-C', '-b', broker.address, '-t', 't', '-e', '-q'])).toString(), 'one\n')
})

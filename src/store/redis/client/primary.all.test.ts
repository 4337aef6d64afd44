import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectSocket, createServer } from 'node:net'
import { test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { makeCertificate } from '../../../../testing/certificate.ts'
import { eventually } from '../../../../testing/eventually.ts'
import { freePort } from '../../../../testing/process.ts'
import { startProxy } from '../../../../testing/proxy.ts'
import { noRedis, startRedis, startReplicated } from '../../../../testing/redis.ts'
import { openTestLinks } from '../../../../testing/redis-links.ts'
import { type Clock, systemClock } from '../../../base/clock.ts'
import type { Values } from '../../../settings/settings.ts'
import { StoreOpenError } from '../../open-error.ts'
import { OutcomeUnknown, StoreUnavailable } from '../../store.ts'
import { explainFailure } from './connect-failure.ts'
import type { IncarnationChange } from './links.ts'
import { askInfo, versionObjection } from './server-info.ts'

const skip = noRedis

async function refusal(overrides: Partial<Values>, clock = systemClock): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const cleanUps: (() => Promise<void>)[] = []
  openTestLinks({ after: fn => void cleanUps.push(fn) }, overrides, clock).then(
    () => reject(new Error('it was not refused')),
    (error: Error) => (error instanceof StoreOpenError ? resolve(error.message) : reject(error)),
  )
  try {
    return await promise
  } finally {
    for (const cleanUp of cleanUps) await cleanUp()
  }
}

test('a wrong, a missing and an unnecessary password each give one clear sentence', { skip }, async t => {
  const guarded = await startRedis(t, { password: 's3cret', acl: ['user ketch on >other ~* &* +@all'] })
  const { port } = guarded
  const at = `Redis at 127.0.0.1:${port}`
  const uri = (credentials: string) => ({ 'redis.uri': `redis://${credentials}127.0.0.1:${port}` })
  assert.match(
    await refusal(uri(':wrong@')),
    new RegExp(`^${at} does not take svc.redis.username and svc.redis.password.*WRONGPASS`),
  )
  assert.match(await refusal(uri('')), new RegExp(`^${at} wants a password, and svc.redis.password is not set .NOAUTH`))
  await openTestLinks(t, uri(':s3cret@'))
  await openTestLinks(t, uri('ketch:other@'))
  await openTestLinks(t, {
    'redis.host': '127.0.0.1',
    'redis.port': port,
    'redis.username': 'ketch',
    'redis.password': 'other',
  })
  const open = await startRedis(t)
  assert.match(
    await refusal({ 'redis.uri': `redis://:x@127.0.0.1:${open.port}` }),
    /has no password, and svc.redis.password or svc.redis.uri gives one/,
  )
})

test('if the user may not run INFO, the error says so', { skip }, async t => {
  const { port } = await startRedis(t, { acl: ['user ketch on >secret ~* +@all -info'] })
  assert.match(
    await refusal({ 'redis.uri': `redis://ketch:secret@127.0.0.1:${port}` }),
    /does not let svc.redis.username run what the broker needs .NOPERM.*'info' command/,
  )
})

test('TLS is spoken with a certificate that is trusted and with no other', { skip }, async t => {
  const certificate = await makeCertificate(t)
  const secure = await startRedis(t, { tls: certificate })
  const ofOthers = await makeCertificate(t, 'DNS:elsewhere.example')
  const other = await startRedis(t, { tls: ofOthers })
  assert.match(
    await refusal({ 'redis.uri': secure.uri }),
    /has a certificate that is not trusted: .*NODE_EXTRA_CA_CERTS/,
  )
  const before = getCACertificates('default')
  const trusted = [certificate, ofOthers].map(({ certificateFile }) => readFileSync(certificateFile, 'utf8'))
  setDefaultCACertificates([...before, ...trusted])
  try {
    for (const uri of [secure.uri, `rediss://localhost:${secure.port}`]) {
      const { links } = await openTestLinks(t, { 'redis.uri': uri })
      assert.equal(await links.write('k').send(['SET', 'k', 'x']), 'OK')
      assert.match(links.description, /over TLS/)
    }
    assert.match(await refusal({ 'redis.uri': other.uri }), /has a certificate that is not trusted: .*127.0.0.1/)
  } finally {
    setDefaultCACertificates(before)
  }
  assert.match(await refusal({ 'redis.uri': `redis://127.0.0.1:${secure.port}` }), /takes rediss:\/\//)
  const plain = await startRedis(t)
  assert.match(
    await refusal({ 'redis.uri': `rediss://127.0.0.1:${plain.port}`, 'redis.timeout': 300 }),
    /did not finish a TLS handshake.*takes redis:\/\//,
  )
})

test('a server of another kind gives one clear sentence', async t => {
  const server = createServer(client => {
    client.on('error', () => {})
    client.once('data', () => client.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => void server.close())
  const { port } = server.address() as { port: number }
  assert.match(
    await refusal({ 'redis.uri': `redis://127.0.0.1:${port}` }),
    /^what listens at 127.0.0.1:\d+ does not answer as Redis does .a line begins with "HTTP.*; svc.redis says where Redis is/,
  )
})

test('an address without a server and an unknown host each give one clear sentence', { skip }, async t => {
  const redis = await startRedis(t)
  await redis.stop()
  assert.match(
    await refusal({ 'redis.uri': redis.uri }),
    /^nothing listens at 127.0.0.1:\d+ .ECONNREFUSED.; svc.redis says/,
  )
  assert.match(
    await refusal({ 'redis.host': 'no-such-host.invalid' }),
    /^no-such-host.invalid is not a host that can be found/,
  )
  assert.match(
    await refusal({ 'redis.host': '127.0.0.1', 'storage.local.redis.uri': redis.uri }),
    /svc.storage.local.redis says/,
  )
})

test('a Redis older than 7.0 is refused by its version', { skip }, async t => {
  const redis = await startRedis(t)
  const info = await askInfo(async () => String(await redis.ask('INFO')))
  assert.equal(versionObjection(info), null)
  for (const version of ['7.0.0', '7.4.2', '8.2.1', '10.0.0'])
    assert.equal(versionObjection({ ...info, version }), null)
  for (const version of ['6.2.14', '5.0.7'])
    assert.equal(
      versionObjection({ ...info, version }),
      `is Redis ${version}, which is too old; takes Redis 7.0 or newer`,
    )
})

test('a replica, and a cluster that is not called one or is not one, are refused', { skip }, async t => {
  const { primary, replicas } = await startReplicated(t)
  assert.match(
    await refusal({ 'redis.uri': replicas[0]!.uri }),
    new RegExp(`is a replica of 127.0.0.1:${primary.port}; svc.redis takes the primary`),
  )
  assert.match(
    await refusal({ 'redis.uri': primary.uri, 'redis.cluster': true }),
    /is no cluster, and svc.redis.cluster is true/,
  )
  const node = await startRedis(t, { config: { 'cluster-enabled': 'yes', 'cluster-port': String(await freePort()) } })
  assert.match(await refusal({ 'redis.uri': node.uri }), /is a node of a cluster, and svc.redis.cluster is false/)
  assert.match(
    await refusal({ 'redis.uri': node.uri, 'redis.cluster': true }),
    /it knows of no slots: the cluster is not made yet/,
  )
})

test('a start waits for a Redis that is loading, and logs its progress', { skip }, async t => {
  const redis = await startRedis(t)
  for (let at = 0; at < 20; at++) await redis.ask('SET', `k${at}`, 'x'.repeat(100_000))
  await redis.ask('SAVE')
  await redis.stop('SIGKILL')
  // A tenth of a second for each key (key-load-delay of redis/src/config.c). Redis serves clients after each key.
  await redis.start({
    'key-load-delay': '100000',
    'loading-process-events-interval-bytes': '1024',
    rdbcompression: 'no',
  })
  await assert.rejects(redis.ask('GET', 'k0'), /LOADING/)
  const { links, log } = await openTestLinks(t, { 'redis.uri': redis.uri })
  assert.match(log(), /is loading its data: [\d.]+ %, \d+ s to go/)
  assert.equal(String(await links.read('k0').send(['STRLEN', 'k0'])), '100000')
})

/** A clock whose minute lasts a second, for tests that wait for a minute. */
const hastyClock: Clock = { ...systemClock, monotonic: () => 60 * systemClock.monotonic() }

test('a start fails if a Redis is loading without progress', { skip }, async t => {
  const redis = await startRedis(t)
  const stuck = createServer(client => {
    const behind = connectSocket(redis.port, redis.host)
    client.pipe(behind)
    behind.on('data', chunk => client.write(chunk.toString('latin1').replace('loading:0', 'loading:1'), 'latin1'))
    behind.on('close', () => client.destroy())
    client.on('close', () => behind.destroy())
    for (const socket of [client, behind]) socket.on('error', () => {})
  })
  await once(stuck.listen(0, '127.0.0.1'), 'listening')
  t.after(() => void stuck.close())
  const { port } = stuck.address() as { port: number }
  assert.match(
    await refusal({ 'redis.uri': `redis://127.0.0.1:${port}` }, hastyClock),
    /is loading its data and has made no progress for 60 s: 0 %/,
  )
})

/** Returns the log lines about the number of replicas. */
const linesOfReplicas = (log: string) => log.split('\n').filter(line => /has \d+ replicas/.test(line))

test('a replica that is missing at a start is one warning, and one line reports when it is connected', {
  skip,
}, async t => {
  const primary = await startRedis(t, { config: { 'repl-diskless-sync-delay': '0' } })
  const wanted = { 'redis.uri': primary.uri, 'storage.local.write.wait-replicas': 1 } as const
  const { links, log } = await openTestLinks(t, wanted)
  const found = () => linesOfReplicas(log()).map(line => /(WARN|INFO) .*has (\d+) replicas/.exec(line)?.slice(1))
  assert.deepEqual(found(), [['WARN', '0']])
  assert.match(log(), /wait-replicas is 1: until they are there, produce requests and commits of groups are refused/)
  assert.equal(links.write('k').lacksReplicas, true)
  assert.match(links.durability()[0]!.warnings.join(), /has 0 replicas/)
  const replica = await startRedis(t, { config: { replicaof: `127.0.0.1 ${primary.port}` } })
  await eventually('the replica is seen', () => found().length === 2, 60_000)
  assert.equal(links.write('k').lacksReplicas, false)
  await replica.stop('SIGKILL')
  await eventually('its loss is seen', () => found().length === 3, 60_000)
  await primary.ask('CLIENT', 'KILL', 'TYPE', 'normal')
  await eventually('all stand again', () => /all connections .* are open again/.test(log()))
  await replica.start()
  await eventually('its return is seen', () => found().length === 4, 60_000)
  assert.deepEqual(found(), [
    ['WARN', '0'],
    ['INFO', '1'],
    ['WARN', '0'],
    ['INFO', '1'],
  ])
})

test('a start waits for a Redis that takes no writes before it has its replicas', { skip }, async t => {
  const config = { 'repl-diskless-sync-delay': '0', 'min-replicas-to-write': '1' }
  const primary = await startRedis(t, { config })
  const lines: string[] = []
  const wanted = { 'redis.uri': primary.uri, 'storage.local.write.wait-replicas': 1 } as const
  const opening = openTestLinks(t, wanted, systemClock, lines)
  await eventually('it is said', () =>
    /takes no writes \(min-replicas-to-write 1\): the start waits/.test(lines.join('')),
  )
  await startRedis(t, { config: { replicaof: `127.0.0.1 ${primary.port}` } })
  await opening
  assert.equal(lines.filter(line => line.includes('the start waits')).length, 1)
})

test('the server lists each connection under the id of the broker and its purpose', { skip }, async t => {
  const unnamed = ['user ketch on >s ~* &* +@all -client|setname']
  const redis = await startRedis(t, { acl: unnamed })
  const few = { 'storage.local.write.connections': 2, 'storage.local.read.connections': 1, 'broker.id': 7 } as const
  const names = async () => {
    const list = String(await redis.ask('CLIENT', 'LIST'))
    return [...list.matchAll(/ name=(ketch\S*)/g)].map(([, name]) => name).sort()
  }
  const { links } = await openTestLinks(t, { ...few, 'redis.uri': redis.uri })
  assert.deepEqual(await names(), ['ketch-7-read', 'ketch-7-watch', 'ketch-7-write', 'ketch-7-write'])
  await links.close()
  const { links: nameless } = await openTestLinks(t, { ...few, 'redis.uri': `redis://ketch:s@127.0.0.1:${redis.port}` })
  assert.deepEqual(await names(), [])
  assert.equal(String(await nameless.read('k').send(['PING'])), 'PONG')
})

test('each setting that weakens durability is one warning, and an eviction policy refuses the start', {
  skip,
}, async t => {
  const unsafe = await startRedis(t)
  const unsafeLinks = await openTestLinks(t, { 'redis.uri': unsafe.uri })
  assert.match(unsafeLinks.log(), /WARN.*durability of Redis at 127.0.0.1:\d+: appendonly is no/)
  assert.equal(unsafeLinks.log().match(/durability of Redis/g)!.length, 1)
  assert.match(unsafeLinks.links.description, /no append-only file/)

  const safe = await startRedis(t, { appendfsync: 'always' })
  const safeLinks = await openTestLinks(t, { 'redis.uri': safe.uri })
  assert.doesNotMatch(safeLinks.log(), /WARN/)
  assert.deepEqual(safeLinks.links.durability(), [
    {
      address: `127.0.0.1:${safe.port}`,
      version: await safe.info('redis_version'),
      appendonly: true,
      appendfsync: 'always',
      maxmemoryPolicy: 'noeviction',
      connectedReplicas: 0,
      warnings: [],
    },
  ])

  await safe.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  assert.match(await refusal({ 'redis.uri': safe.uri }), /has maxmemory-policy allkeys-lru.*takes noeviction/)
})

test('eviction that is enabled under a broker is one ERROR with instructions, and one line when it is disabled', {
  skip,
}, async t => {
  const redis = await startRedis(t, { appendfsync: 'always' })
  const { links, log } = await openTestLinks(t, { 'redis.uri': redis.uri })
  const policy = (name: string) => redis.ask('CONFIG', 'SET', 'maxmemory-policy', name)
  const known = () => links.durability()[0]!
  for (let round = 1; round <= 2; round++) {
    await policy('allkeys-lru')
    await eventually('it is told', () => [...log().matchAll(/ERROR/g)].length === round, 60_000)
    assert.match(log(), /ERROR .* has maxmemory-policy allkeys-lru, .*CONFIG SET maxmemory-policy noeviction/)
    assert.equal(known().maxmemoryPolicy, 'allkeys-lru')
    assert.match(known().warnings.join(), /has maxmemory-policy allkeys-lru/)
    await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal')
    await eventually(
      'all stand again',
      () => [...log().matchAll(/all connections .* are open again/g)].length === round,
    )
    await policy('volatile-lru')
    await eventually(
      'it is put right',
      () => [...log().matchAll(/no longer drops keys of the broker/g)].length === round,
      60_000,
    )
    assert.deepEqual([known().maxmemoryPolicy, known().warnings], ['volatile-lru', []])
  }
  assert.equal([...log().matchAll(/ERROR/g)].length, 2)
  assert.doesNotMatch(log(), /durability of Redis/)
})

test('durability is checked again at each reconnect, and each warning is logged once', { skip }, async t => {
  const redis = await startRedis(t, { appendfsync: 'everysec' })
  const { links, log } = await openTestLinks(t, { 'redis.uri': redis.uri })
  assert.match(log(), /appendfsync is everysec/)
  await redis.ask('CONFIG', 'SET', 'no-appendfsync-on-rewrite', 'yes')
  await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal')
  await eventually('the new warning', () => /no-appendfsync-on-rewrite is yes/.test(log()))
  assert.equal(log().match(/appendfsync is everysec/g)!.length, 1)
  assert.equal(links.durability()[0]!.warnings.length, 2)
})

test('with wait-replicas, the broker warns about missing replicas and bad settings of replicas', { skip }, async t => {
  const { primary, replicas } = await startReplicated(t, { replicas: 2, appendfsync: 'everysec' })
  await replicas[1]!.ask('CONFIG', 'SET', 'replica-priority', '50')
  const { links, log } = await openTestLinks(t, {
    'redis.uri': primary.uri,
    'storage.local.write.wait-replicas': 2,
  })
  assert.equal(links.durability()[0]!.connectedReplicas, 2)
  assert.match(log(), /with svc.storage.local.write.wait-replicas=2: a primary that restarts before a failover/)
  assert.match(log(), /min-replicas-to-write is 0/)
  assert.match(
    log(),
    new RegExp(
      `replica-priority differs \\(127.0.0.1:${replicas[0]!.port} has 100, 127.0.0.1:${replicas[1]!.port} has 50\\)|replica-priority differs \\(127.0.0.1:${replicas[1]!.port} has 50`,
    ),
  )
  await replicas[1]!.stop('SIGKILL')
  await eventually('the primary misses it', async () => (await primary.info('connected_slaves')) === '1')
  await primary.ask('CLIENT', 'KILL', 'TYPE', 'normal')
  await eventually('the new warning', () =>
    /it has 1 replicas and svc.storage.local.write.wait-replicas is 2/.test(log()),
  )
})

test('if the server does not tell its settings, the warning says that they are unknown', { skip }, async t => {
  const { port } = await startRedis(t, { appendfsync: 'always', acl: ['user ketch on >s ~* &* +@all -config'] })
  const { links, log } = await openTestLinks(t, { 'redis.uri': `redis://ketch:s@127.0.0.1:${port}` })
  assert.match(log(), /does not tell its settings .CONFIG GET: NOPERM/)
  assert.equal(links.durability()[0]!.appendfsync, null)
})

test('a new history is reported once, and every connection shows it', { skip }, async t => {
  const redis = await startRedis(t, { appendfsync: 'always' })
  const { links, metrics, log } = await openTestLinks(t, { 'redis.uri': redis.uri, 'redis.pool.max-wait': 20_000 })
  const changes: IncarnationChange[] = []
  const shown: string[] = []
  links.onIncarnation(change => {
    changes.push(change)
    shown.push(...Array.from({ length: 40 }, (_, at) => links.write(`{${at}}`).incarnation))
  })
  const before = await redis.info('master_replid')
  assert.equal(links.write('k').incarnation, before)
  await redis.stop('SIGKILL')
  await redis.start()
  const after = await redis.info('master_replid')
  await links.borrow('k', link => {
    assert.equal(link.incarnation, after)
    return link.send(['PING'])
  })
  await eventually('the news', () => changes.length > 0)
  assert.deepEqual([...new Set(shown)], [after])
  assert.deepEqual(changes, [{ address: `127.0.0.1:${redis.port}`, before, after }])
  assert.equal(metrics.total('svc.redis.incarnations'), 1)
  assert.equal(log().match(/has another history/g)!.length, 1)
})

test('a new history is noticed on open connections, and so is a primary that became a replica', {
  skip,
}, async t => {
  const other = await startRedis(t)
  const redis = await startRedis(t)
  const { links } = await openTestLinks(t, { 'redis.uri': redis.uri })
  const link = links.write('k')
  const { incarnation, connection } = link
  await redis.ask('DEBUG', 'CHANGE-REPL-ID')
  await eventually('the new history', () => link.incarnation !== incarnation, 60_000)
  assert.equal(link.connection, connection)
  assert.equal(link.incarnation, await redis.info('master_replid'))
  await redis.ask('REPLICAOF', '127.0.0.1', other.port)
  await eventually(
    'writes are refused',
    async () => {
      const error = await link.send(['SET', 'k', 'x']).catch(e => e)
      return error instanceof StoreUnavailable && /is a replica of/.test(error.message)
    },
    60_000,
  )
  await redis.ask('REPLICAOF', 'NO', 'ONE')
  await links.borrow('k', again => again.send(['SET', 'k', 'x']))
})

test('connections to the former server are replaced when one connection leads to a new server', { skip }, async t => {
  const { primary, replicas } = await startReplicated(t)
  const proxy = await startProxy({ target: primary })
  t.after(() => proxy.close())
  const { links } = await openTestLinks(t, { 'redis.uri': `redis://127.0.0.1:${proxy.port}` })
  const keys = Array.from({ length: 40 }, (_, at) => `{${at}}`)
  await replicas[0]!.ask('REPLICAOF', 'NO', 'ONE')
  proxy.retarget(replicas[0]!.port)
  // One connection breaks. The others stay open and lead to the old primary, which still calls itself a primary.
  const { connection } = links.write(keys[0]!)
  proxy.swallowNextReply()
  await links
    .write(keys[0]!)
    .send(['PING'])
    .catch(error => assert(error instanceof OutcomeUnknown))
  await eventually('a new connection', () => links.write(keys[0]!).connection > connection)
  const replid = await replicas[0]!.info('master_replid')
  await eventually(
    'all lead to the promoted one',
    () => keys.every(key => links.write(key).incarnation === replid),
    60_000,
  )
  for (const key of keys) await links.borrow(key, link => link.send(['SET', key, 'x']))
  assert.equal(await replicas[0]!.ask('DBSIZE'), keys.length)
  assert.equal(await primary.ask('DBSIZE'), 0)
})

test('a silent Redis opens the breaker, calls fail at once, and a PING closes it', { skip }, async t => {
  const redis = await startRedis(t)
  const { links, metrics, log } = await openTestLinks(t, {
    'redis.uri': redis.uri,
    'redis.timeout': 300,
    'redis.pool.max-wait': 100,
    'redis.circuit-breaker.open-duration': 500,
    'redis.circuit-breaker.log-interval': 3_600_000,
  })
  redis.pause()
  const call = () =>
    links
      .borrow('k', link => link.send(['SET', 'k', 'x']))
      .then(() => 'done')
      .catch((error: Error) => `${error.name}: ${error.message}`)
  await eventually(
    'an open breaker',
    async () => /^StoreUnavailable: the circuit breaker is open/.test(await call()),
    60_000,
  )
  assert.match(links.breaker, /^(half-)?open$/)
  redis.resume()
  await eventually('a closed breaker', async () => (await call()) === 'done', 60_000)
  assert.equal(links.breaker, 'closed')
  assert.match(log(), /the circuit breaker of Redis at 127.0.0.1:\d+ is open: /)
  assert.equal(log().match(/the circuit breaker of/g)!.length, 1)
  assert.match(await metrics.scrape(), /svc_redis_breaker_moves_total\{client="broker",to="closed"\} 1/)
})

test('without a breaker every call is tried', { skip }, async t => {
  const redis = await startRedis(t)
  const { links } = await openTestLinks(t, {
    'redis.uri': redis.uri,
    'redis.pool.max-wait': 50,
    'redis.circuit-breaker.enabled': false,
  })
  await redis.stop()
  const call = () => links.borrow('k', link => link.send(['PING'])).catch((error: Error) => error.message)
  for (let at = 0; at < 10; at++) assert.doesNotMatch(String(await call()), /circuit breaker/)
  assert.equal(links.breaker, 'disabled')
})

test('latencies of commands are measured if the settings say so, and by socket if they say so', {
  skip,
}, async t => {
  const redis = await startRedis(t)
  const silent = await openTestLinks(t, { 'redis.uri': redis.uri })
  await silent.links.write('k').send(['SET', 'k', 'x'])
  assert.doesNotMatch(await silent.metrics.scrape(), /svc_redis_command_seconds_count/)
  const telling = await openTestLinks(t, {
    'redis.uri': redis.uri,
    'redis.metrics.enabled': true,
    'redis.metrics.local-distinction': true,
  })
  await telling.links.write('k').send(['set', 'k', 'x'])
  await telling.links.write('k').transaction([['SET', 'k', 'y']])
  const scrape = await telling.metrics.scrape()
  assert.match(scrape, /svc_redis_command_seconds_count\{command="SET",local="127.0.0.1:\d+"\} 1/)
  assert.match(scrape, /svc_redis_command_seconds_count\{command="EXEC",local="127.0.0.1:\d+"\} 1/)
  await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal')
  await eventually(
    'labels of lost sockets are dropped',
    async () => !/command="EXEC"/.test(await telling.metrics.scrape()),
  )
})

test('the reason of a failed connection is explained in plain words', () => {
  const target = { keys: 'svc.redis', tls: false, host: 'h' } as Parameters<typeof explainFailure>[2]
  assert.equal(explainFailure(new Error('odd'), 'h:1', target), 'Redis at h:1: odd')
})

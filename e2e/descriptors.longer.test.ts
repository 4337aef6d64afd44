// A broker with a low limit of open file descriptors, while clients open more connections than that.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { connect as connectSocket, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { NONE } from '../src/protocol/errors.ts'
import { apiVersions } from '../src/protocol/messages/api-versions.ts'
import { createTopics } from '../src/protocol/messages/create-topics.ts'
import { produce } from '../src/protocol/messages/produce.ts'
import { eventually } from '../testing/eventually.ts'
import { batchOf } from '../testing/kafka.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { hasProgram } from '../testing/programs.ts'
import { connect } from '../testing/wire.ts'

const skip = hasProgram('prlimit') ? false : 'SKIPPED descriptors: apt-get install util-linux'

const LIMIT = 240

function start(t: TestContext, settings: Readonly<Record<string, string>> = {}): Promise<BrokerProcess> {
  return startBrokerProcess(t, {
    settings: { 'svc.storage.local.engine': 'embedded', 'svc.admin.security-enabled': 'false', ...settings },
    within: command => ['prlimit', `--nofile=${LIMIT}:${LIMIT}`, ...command],
  })
}

interface Opened {
  readonly socket: Socket
  isClosed: boolean
}

async function openMany(t: TestContext, port: number, count: number): Promise<readonly Opened[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connectSocket({ port, host: '127.0.0.1' })
      const opened = { socket, isClosed: false }
      t.after(() => socket.destroy())
      socket.on('error', () => {})
      socket.on('close', () => {
        opened.isClosed = true
      })
      socket.resume()
      await new Promise<void>(resolve => socket.once('connect', resolve).once('close', () => resolve()))
      return opened
    }),
  )
}

const openOf = (all: readonly Opened[]) => all.filter(({ isClosed }) => !isClosed).length
const linesOf = (broker: BrokerProcess, what: RegExp) =>
  broker
    .output()
    .split('\n')
    .filter(line => what.test(line))

test('connections leave descriptors for files and for health, and a log line says which connections were closed', {
  skip,
  timeout: 240_000,
}, async t => {
  const broker = await start(t)
  const warning = /WARN .*max-connections is 2147483647 \(default\), and the process may have 240 descriptors/
  assert.equal(linesOf(broker, warning).length, 1)
  const wire = await connect(broker)
  t.after(() => wire.close())
  const many = await openMany(t, broker.port, 2 * LIMIT)
  await eventually('the connections above the limit are closed', () => openOf(many) <= LIMIT * 0.75)
  assert.ok(openOf(many) > LIMIT / 2, `${openOf(many)} are open`)
  assert.equal(linesOf(broker, /WARN .*a connection was closed: of 240 descriptors the last 60 are kept/).length, 1)

  const topic = { name: 't', numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }
  const made = await wire.send(createTopics, 5, { topics: [topic], timeoutMs: 20_000, validateOnly: false })
  assert.equal(made.topics[0]!.errorCode, NONE)
  const topicData = [{ name: 't', partitionData: [{ index: 0, records: batchOf(['v']) }] }]
  const { responses } = await wire.send(produce, 9, { acks: -1, timeoutMs: 20_000, topicData })
  assert.equal(responses[0]!.partitionResponses[0]!.errorCode, NONE)

  const halves = await openMany(t, Number(new URL(broker.url).port), LIMIT)
  for (const { socket } of halves) socket.write('GET / HTTP/1.1\r\n')
  await eventually('HTTP leaves descriptors too', () => openOf(halves) <= LIMIT / 4)
  assert.equal(linesOf(broker, /WARN .*HTTP connection .*: of 240 descriptors the last 30 are kept/).length, 1)
  const health = await fetch(`${broker.url}/actuator/health/liveness`, { headers: { connection: 'close' } })
  assert.equal(health.status, 200)
  assert.doesNotMatch(broker.output(), /EMFILE/)

  for (const { socket } of [...many, ...halves]) socket.destroy()
  await eventually('there is room again', async () => {
    const more = await connect(broker)
    const answer = await more.send(apiVersions, 0, {}).catch(() => null)
    await more.close()
    return answer?.errorCode === NONE
  })
})

test('max-connections gives a warning only if it is more than the descriptors allow', {
  skip,
  timeout: 240_000,
}, async t => {
  const key = 'svc.broker.max-connections'
  assert.deepEqual(linesOf(await start(t, { [key]: '100' }), /WARN .*max-connections/), [])
  const [line, ...more] = linesOf(await start(t, { [key]: '200' }), /WARN .*max-connections/)
  assert.deepEqual(more, [])
  assert.match(
    line!,
    /max-connections is 200 \(command line\), .* 240 descriptors: when 180 are open, .* limit=240 kept=60/,
  )
})

test('if no descriptor is left at all, a log line says so', { skip, timeout: 240_000 }, async t => {
  const broker = await start(t)
  const limit = spawnSync('prlimit', ['--pid', String(broker.pid), '--nofile=10:10'])
  assert.equal(limit.status, 0, String(limit.stderr))
  await eventually('it is said', () => linesOf(broker, /WARN .*no descriptor is left: .*EMFILE/).length === 1, 60_000)
})

// Tests the metrics of the whole cluster while one of its brokers is broken: it tells impossible numbers or far too
// many, breaks off in the middle, answers in another form, or not at all. The broken broker is a server on a real
// connection, with a record in the store.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type AdminClient, adminClient } from '../../../testing/admin-client.ts'
import type { CleanUp } from '../../../testing/broker.ts'
import { createCluster, type TestCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { joinCluster } from '../../cluster/cluster.ts'
import { decodeRequest, encodeResponse } from '../../protocol/codec.ts'
import { headerLookup, readRequestHeader, responseHeader } from '../../protocol/header.ts'
import { describeBrokerMetrics } from '../../protocol/messages/describe-broker-metrics.ts'
import { describeTopicMetrics } from '../../protocol/messages/describe-topic-metrics.ts'
import { listGroups } from '../../protocol/messages/list-groups.ts'
import type { Api, ResponseInput } from '../../protocol/schema.ts'
import { ADDITIVE } from '../../telemetry/history.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { NO_PERCENTILES } from '../../telemetry/step-histogram.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows of answers, the test reads their members without types
type Row = any

const INTERVAL_MS = 500
const RETENTION_MS = 10_000
/** The limit of a page for another broker is 2 s, and a page of topics asks twice. A busy machine needs longer. */
const WITHIN_MS = 10_000
const BROKEN = 2

const METRICS = {
  ...{ uptimeMs: 9_000, activeConnections: 3, backpressureConnections: 0, pendingBytes: 0 },
  ...{ messages: 70, bytes: 700, messagesOut: 0, bytesOut: 0, requests: 5, rebalances: 0 },
  ...{ brokerFailures: 0, lossyRecords: 0, requestsPerSecond: 1.5, requestLatencyMs: NO_PERCENTILES },
  ...{ cpuUsage: 0.5, memoryBytes: 50_000_000 },
}
const SAMPLE = {
  ...(Object.fromEntries(ADDITIVE.map(field => [field, 2])) as Record<(typeof ADDITIVE)[number], number>),
  ...{ requestLatencyMs: NO_PERCENTILES, produceLatencyMs: NO_PERCENTILES },
}
const TRAFFIC = { recordsPerSecond: 4, bytesPerSecond: 40, requestsPerSecond: 1, latencyMs: NO_PERCENTILES }

const topic = (name: string) => ({ name, produce: TRAFFIC, fetch: TRAFFIC, samples: [] })

type OfBroker = ResponseInput<typeof describeBrokerMetrics>
type OfTopics = ResponseInput<typeof describeTopicMetrics>

const stepNow = () => Math.round(systemClock.now() / INTERVAL_MS)
const steps = () => ({
  ...{ throttleTimeMs: 0, errorCode: 0, steps: stepNow(), nextStepMs: INTERVAL_MS / 2 },
  ...{ commonStep: stepNow(), intervalMs: INTERVAL_MS, isHistoryServed: true },
})

/** How the broker is broken. Without a function it answers as a whole one. */
interface Broken {
  readonly broker?: (answer: OfBroker) => OfBroker
  readonly topics?: (answer: OfTopics) => OfTopics
  /** Replaces the bytes of the answers about metrics. */
  readonly send?: (socket: Socket, frame: Buffer) => void
  /** Each answer, also one about groups, goes out byte by byte, after the answers to earlier requests. */
  readonly isSlow?: boolean
}

const BYTE_EVERY_MS = 50

/** The questions that the broker knows. */
const ASKED: readonly Api[] = [listGroups, describeBrokerMetrics, describeTopicMetrics]

/** Starts the broker, which becomes whatever `become` says. */
async function startBroken(cleanUp: CleanUp, cluster: TestCluster) {
  let how: Broken = {}
  const isFlexibleHeader = headerLookup(ASKED)
  const sockets = new Set<Socket>()

  function answerOf(api: Api, frame: Buffer, version: number, bodyOffset: number): Buffer[] {
    if (api === listGroups) return encodeResponse(listGroups, version, { throttleTimeMs: 0, errorCode: 0, groups: [] })
    if (api === describeBrokerMetrics) {
      const { withHistory } = decodeRequest(describeBrokerMetrics, version, frame, bodyOffset)
      const answer: OfBroker = { ...steps(), metrics: METRICS, history: withHistory ? [SAMPLE, SAMPLE] : [] }
      return encodeResponse(describeBrokerMetrics, version, how.broker?.(answer) ?? answer)
    }
    const { names } = decodeRequest(describeTopicMetrics, version, frame, bodyOffset)
    const samples = [{ recordsPerSecond: 4, bytesPerSecond: 40 }]
    const topics = names === null ? [topic('orders')] : names.map(name => ({ ...topic(name), samples }))
    const answer: OfTopics = { ...steps(), topics }
    return encodeResponse(describeTopicMetrics, version, how.topics?.(answer) ?? answer)
  }

  const server = createServer(socket => {
    sockets.add(socket)
    let received = Buffer.alloc(0)
    /** The bytes that a slow broker has not sent. It sends them all when it is no longer slow. */
    let waiting = Buffer.alloc(0)
    const timer = setInterval(() => {
      const due = waiting.subarray(0, how.isSlow ? 1 : waiting.length)
      if (due.length > 0) socket.write(due)
      waiting = waiting.subarray(due.length)
    }, BYTE_EVERY_MS)
    const ended = () => {
      clearInterval(timer)
      sockets.delete(socket)
    }
    socket.on('error', () => {}).on('close', ended)
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const frame = received.subarray(4, 4 + received.readInt32BE(0))
        received = received.subarray(4 + frame.length)
        const { apiKey, apiVersion, correlationId, bodyOffset } = readRequestHeader(frame, isFlexibleHeader)
        const api = ASKED.find(({ key }) => key === apiKey)
        if (api === undefined) {
          socket.destroy()
          return
        }
        const body = answerOf(api, frame, apiVersion, bodyOffset)
        const answer = Buffer.concat([responseHeader(api, apiVersion, correlationId), ...body])
        const size = Buffer.alloc(4)
        size.writeInt32BE(answer.length)
        const whole = Buffer.concat([size, answer])
        if (how.isSlow || waiting.length > 0) waiting = Buffer.concat([waiting, whole])
        else if (api === listGroups || how.send === undefined) socket.write(whole)
        else how.send(socket, whole)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const record = await joinCluster({
    store: cluster.contents.beside(),
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ clock: systemClock, write: () => {}, format: 'plain' }),
    brokerId: BROKEN,
    rack: null,
    expiryMs: 3_000,
    lost: error => assert.fail(error),
  })
  const { port } = server.address() as AddressInfo
  await record.announce([{ name: 'PLAINTEXT', host: '127.0.0.1', port, security: 'plaintext' }])
  cleanUp.after(async () => {
    await record.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    become(next: Broken) {
      how = next
    },
  }
}

/** Throws if a number of the answer cannot be. JSON has null for NaN and for endless numbers. */
function assertPossible(value: unknown, path: string): void {
  if (typeof value === 'number') assert.ok(value >= 0 && value <= Number.MAX_SAFE_INTEGER, `${path} is ${value}`)
  else if (value === null) assert.match(path, /p(50|95|99)$/)
  else if (typeof value === 'object')
    for (const [key, each] of Object.entries(value)) assertPossible(each, `${path}.${key}`)
}

const PATHS = ['/metrics?scope=cluster', '/metrics/history?scope=cluster', '/metrics/topics?scope=cluster'] as const

describe('a cluster with a broken broker', { concurrency: 1 }, () => {
  const ends: (() => Promise<void>)[] = []
  const cleanUp: CleanUp = { after: fn => void ends.push(fn) }
  let api: AdminClient
  let become: (how: Broken) => void

  before(async () => {
    const settings = {
      'admin.security-enabled': false,
      'admin.metrics-history.interval': INTERVAL_MS,
      'admin.metrics-history.retention': RETENTION_MS,
      'broker.expiry': 3_000,
    } as const
    const cluster = createCluster(cleanUp, settings, { hasHttp: true })
    const one = await cluster.start(1)
    api = adminClient(`${one.url}/api/v1`)
    assert.equal((await api.ask('POST', '/topics', { name: 'orders', partitions: 1 })).status, 201)
    become = (await startBroken(cleanUp, cluster)).become
    await cluster.agreed([one], [1, BROKEN])
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })

  /** Asks all at once, as the pages of a console do. Resolves with the bodies by path. */
  async function ask<Path extends string>(...paths: readonly Path[]): Promise<Record<Path, Row>> {
    const bodies = paths.map(async path => {
      const begunAtMs = systemClock.monotonic()
      const { status, body } = await api.ask('GET', path)
      const tookMs = systemClock.monotonic() - begunAtMs
      assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
      assert.ok(tookMs < WITHIN_MS, `${path} took ${tookMs} ms`)
      return [path, body]
    })
    return Object.fromEntries(await Promise.all(bodies))
  }

  const reasonIn = ({ unavailableBrokers }: Row): string | null => {
    if (unavailableBrokers.length === 0) return null
    assert.deepEqual([unavailableBrokers.length, unavailableBrokers[0].brokerId], [1, BROKEN])
    return unavailableBrokers[0].reason
  }

  async function isWhole(): Promise<void> {
    become({})
    await eventually('the broker counts again', async () => {
      const bodies = await ask(...PATHS)
      for (const path of PATHS) {
        assertPossible(bodies[path], path)
        if (reasonIn(bodies[path]) !== null) return false
      }
      const { messages } = bodies['/metrics?scope=cluster']
      const { topics } = bodies['/metrics/topics?scope=cluster']
      return messages === 70 && topics[0].produce.recordsPerSecond === 4 && topics[0].samples.length > 0
    })
  }

  /** Resolves when each of the paths names the broker with this reason, and every sum is that of the others. */
  async function isNamed(how: Broken, reason: RegExp, paths: readonly string[]): Promise<void> {
    become(how)
    await eventually(`the broker is named with ${reason}`, async () => {
      const bodies = await ask(...paths)
      const reasons = paths.map(path => {
        assertPossible(bodies[path], path)
        return reasonIn(bodies[path])
      })
      return reasons.every(each => each !== null && reason.test(each))
    })
    const bodies = await ask(...paths)
    for (const path of paths) {
      const { messages, samples = [], topics = [] } = bodies[path]
      assert.ok(messages === undefined || messages === 0, path)
      assert.ok(samples.every(({ brokers, bytesInPerSecond }: Row) => brokers === 1 && bytesInPerSecond === 0))
      for (const { name, samples: kept } of topics) assert.deepEqual([name, kept], ['orders', []])
    }
    const { brokers } = (await ask('/brokers'))['/brokers']
    assert.deepEqual(
      brokers.map(({ id }: Row) => id),
      [1, BROKEN],
    )
    await isWhole()
  }

  test('a whole broker counts', () => isWhole())

  for (const [field, value] of [
    ['messages', -5],
    ['bytes', Number.NaN],
    ['requests', Number.POSITIVE_INFINITY],
    ['cpuUsage', 17],
  ] as const)
    test(`a broker that tells ${value} ${field} is left out of the sums, and of the numbers of brokers`, async () => {
      const reason = new RegExp(`^broker 2 has told an impossible number: metrics\\.${field} is ${value}$`)
      const how: Broken = { broker: answer => ({ ...answer, metrics: { ...METRICS, [field]: value } }) }
      become(how)
      await eventually('the row of the broker has no numbers', async () => {
        const [, row] = (await ask('/brokers'))['/brokers'].brokers
        return row.memoryBytes === null && row.cpuUsage === null && reason.test(row.silentReason)
      })
      await isNamed(how, reason, PATHS.slice(0, 2))
    })

  test('a broker with an impossible step, or an impossible percentile, is left out', async () => {
    for (const [wrong, reason] of [
      [{ bytesInPerSecond: -0.5 }, /history\.bytesInPerSecond is -0\.5$/],
      [{ requestsPerSecond: Number.NaN }, /history\.requestsPerSecond is NaN$/],
      [{ requestLatencyMs: { p50: 1, p95: -2, p99: 3 } }, /history\.requestLatencyMs\.p95 is -2$/],
    ] as const)
      await isNamed(
        { broker: answer => ({ ...answer, history: [SAMPLE, { ...SAMPLE, ...wrong }] }) },
        reason,
        PATHS.slice(0, 2),
      )
  })

  test('a broker with impossible rates of a topic, or rates told twice, is left out', async () => {
    const path = ['/metrics/topics?scope=cluster'] as const
    const negative = { ...TRAFFIC, bytesPerSecond: -1 }
    await isNamed(
      { topics: answer => ({ ...answer, topics: [{ ...topic('orders'), fetch: negative }] }) },
      /^broker 2 has told an impossible number: topics\.fetch\.bytesPerSecond is -1$/,
      path,
    )
    await isNamed(
      { topics: answer => ({ ...answer, topics: [topic('orders'), topic('orders')] }) },
      /^broker 2 has told the rates of topic "orders" twice$/,
      path,
    )
    const samples = Array.from({ length: 100_000 }, () => ({ recordsPerSecond: 1, bytesPerSecond: 1 }))
    await isNamed(
      { topics: answer => ({ ...answer, topics: [{ ...topic('orders'), samples }] }) },
      /^broker 2 has told 100000 samples of topic "orders", and was asked for 0$/,
      path,
    )
  })

  test('the largest numbers of a broker do not make a sum that JSON cannot hold', async () => {
    const most = Number.MAX_SAFE_INTEGER
    become({ broker: answer => ({ ...answer, metrics: { ...METRICS, messages: most, requests: most } }) })
    const path = '/metrics?scope=cluster'
    await eventually('the sums are the largest', async () => {
      const { [path]: body } = await ask(path)
      assertPossible(body, path)
      return body.messages === most && body.requests === most
    })
    await isWhole()
  })

  test('steps at a wrong time, and more steps than are kept, leave the history as it was', async () => {
    const path = '/metrics/history?scope=cluster'
    const many = Array.from({ length: 100_000 }, () => SAMPLE)
    for (const [what, how] of [
      ['long ago', { commonStep: 1 }],
      ['in the far future', { commonStep: Number.MAX_SAFE_INTEGER }],
      ['too many', { history: many }],
    ] as const) {
      become({ broker: answer => ({ ...answer, ...(answer.history!.length > 0 && how) }) })
      // An answer is kept until the next step.
      await new Promise<void>(resolve => systemClock.timer(3 * INTERVAL_MS, resolve))
      const { [path]: body } = await ask(path)
      assertPossible(body, path)
      assert.equal(reasonIn(body), null, what)
      const [first, last] = [body.samples[0], body.samples.at(-1)]
      const now = systemClock.now()
      assert.ok(last.timestamp <= now + INTERVAL_MS && last.timestamp > now - 6 * INTERVAL_MS, what)
      assert.ok(first.timestamp > last.timestamp - RETENTION_MS - INTERVAL_MS, what)
      const most = Math.max(...body.samples.map(({ brokers }: Row) => brokers))
      assert.equal(most, what === 'too many' ? 2 : 1, what)
      const { [`${path}&step=100000000`]: coarse } = await ask(`${path}&step=100000000`)
      assert.ok(coarse.samples.length >= 1 && coarse.samples.length <= 2, what)
    }
    await isWhole()
  })

  test('topics that do not exist are not shown, however many a broker names', async () => {
    const path = '/metrics/topics?scope=cluster'
    for (const count of [1, 100_000]) {
      const names = Array.from({ length: count }, (_, at) => topic(`no-such-topic-${at}`))
      become({ topics: answer => ({ ...answer, topics: [...answer.topics!, ...names] }) })
      // The answers from before are kept until the next step.
      await new Promise<void>(resolve => systemClock.timer(2 * INTERVAL_MS, resolve))
      for (let round = 0; round < 3; round++) {
        const { [path]: body } = await ask(path, ...PATHS)
        assertPossible(body, path)
        assert.deepEqual([body.total, body.topics.map(({ name }: Row) => name)], [1, ['orders']])
      }
    }
    await isWhole()
  })

  test('a broker that does not answer, or only byte by byte, is named within the limit', async () => {
    const reason = /^broker 2 (has not answered within \d+ ms|has closed the connection|cannot be reached)/
    await isNamed({ send: () => {} }, reason, PATHS)
    await isNamed({ isSlow: true }, reason, PATHS)
  })

  test('a broker that breaks off in the middle of an answer is named', async () => {
    const half = (frame: Buffer) => frame.subarray(0, frame.length / 2)
    await isNamed({ send: (socket, frame) => socket.end(half(frame)) }, /^broker 2 has closed the connection$/, PATHS)
    await isNamed({ send: socket => socket.resetAndDestroy() }, /^broker 2 cannot be reached at /, PATHS)
  })

  test('a broker that refuses to answer is named with its error', async () => {
    for (const [errorCode, name] of [
      [31, 'CLUSTER_AUTHORIZATION_FAILED'],
      [-1, 'UNKNOWN_SERVER_ERROR'],
      [12_345, 'UNKNOWN_SERVER_ERROR'],
    ] as const)
      await isNamed(
        { broker: answer => ({ ...answer, errorCode }), topics: answer => ({ ...answer, errorCode }) },
        new RegExp(`^broker 2 has refused to answer \\(${name}: `),
        PATHS,
      )
  })

  test('a broker that answers in a form of another version, or no form at all, is named', async () => {
    const sized = (size: number, body: Uint8Array) => {
      const head = Buffer.alloc(4)
      head.writeInt32BE(size)
      return Buffer.concat([head, body])
    }
    const of = (frame: Buffer) => frame.subarray(4)
    const forms: Readonly<Record<string, (frame: Buffer) => Buffer>> = {
      'a member more': frame => sized(of(frame).length + 8, Buffer.concat([of(frame), Buffer.alloc(8, 7)])),
      'a member less': frame => sized(of(frame).length - 8, of(frame).subarray(0, -8)),
      'the answer to no request': frame => {
        const copy = Buffer.from(frame)
        copy.writeInt32BE(1_000_000, 4)
        return copy
      },
      'the same answer twice': frame => Buffer.concat([frame, frame]),
      'a negative size': frame => sized(-1, of(frame)),
      'a size of 2 GB': frame => sized(2 ** 31 - 1, of(frame)),
      'another protocol': () => Buffer.from('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'),
    }
    for (const [form, send] of Object.entries(forms)) {
      // The first of two equal answers is right.
      if (form === 'the same answer twice') {
        become({ send: (socket, frame) => socket.write(send(frame)) })
        for (let round = 0; round < 5; round++)
          for (const body of Object.values(await ask(...PATHS))) assertPossible(body, form)
        await isWhole()
      } else
        await isNamed(
          { send: (socket, frame) => socket.write(send(frame)) },
          /^broker 2 sent an answer that cannot be read$/,
          PATHS,
        )
    }
  })
})

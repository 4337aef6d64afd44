import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fetchFrom } from '../../../testing/kafka.ts'
import { batchOf, openLogWorld } from '../../../testing/sim/logs.ts'
import { EVERYTHING, type Policy, policyOf } from '../../auth/clients/policy.ts'
import { seededRandom } from '../../base/random.ts'
import { aloneInCluster } from '../../cluster/cluster.ts'
import { openClientQuotas } from '../../coordinator/client-quotas.ts'
import { openReadPositions } from '../../coordinator/read-positions.ts'
import { decodeRequest, encodeRequest } from '../../protocol/codec.ts'
import { TOPIC_AUTHORIZATION_FAILED } from '../../protocol/errors.ts'
import { fetch } from '../../protocol/messages/fetch.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { createLogger } from '../../telemetry/logger.ts'
import type { Request, Rooms } from '../handler.ts'
import { fetchHandler } from '../handlers/fetch.ts'
import { createThrottle } from '../throttle.ts'

const NOTHING: Policy = policyOf(new Map(), new Set(), { name: 'ada', groups: [] })

/** A broker's fetches of the topic `t`, from one connection whose policy a test replaces. */
async function open(t: TestContext) {
  const world = await openLogWorld(t)
  const { clock, settings, metrics, catalogue, logs, store } = world
  await world.create('t')
  const rooms = {
    ...{ settings, metrics, catalogue, logs, clock },
    readPositions: openReadPositions(clock),
    throttle: createThrottle(await openClientQuotas(store), clock),
    random: seededRandom(1),
    cluster: aloneInCluster(0, null),
    logger: createLogger({ clock, write: () => {}, format: 'plain' }),
  }
  const handler = fetchHandler.open(rooms as unknown as Rooms)
  const { signal } = new AbortController()
  const connection: { policy: Policy | null } & Record<string, unknown> = {
    ...{ address: '10.0.0.1', principal: 'User:ada', policy: EVERYTHING, listener: { name: 'PLAINTEXT' } },
  }
  const ask = (body: RequestOf<typeof fetch>) =>
    handler.answer({
      ...{ body, apiVersion: 12, clientId: 'app', connection, drain: signal, closed: signal },
      receivedAtMs: clock.monotonic(),
      waitedMs: 0,
    } as unknown as Request<RequestOf<typeof fetch>>) as Promise<FetchAnswer> | FetchAnswer
  const bodyOf = (maxWaitMs: number) =>
    decodeRequest(fetch, 12, Buffer.concat(encodeRequest(fetch, 12, fetchFrom(0, { maxWaitMs }))), 0)
  return { ...world, connection, ask, bodyOf }
}

type FetchAnswer = { responses: { partitions: { errorCode: number; records: Buffer[] }[] }[] }

const rowOf = ({ responses }: FetchAnswer) => {
  const [row] = responses[0]!.partitions
  return [row!.errorCode, row!.records.length]
}
const DENIED = [TOPIC_AUTHORIZATION_FAILED.code, 0]

test('a fetch that waits delivers no records if its client has lost the right to read them meanwhile', async t => {
  const { partition, connection, ask, bodyOf } = await open(t)
  const waiting = ask(bodyOf(10_000))
  connection.policy = NOTHING
  await partition('t').append(batchOf(1), 0)
  assert.deepEqual(rowOf(await waiting), DENIED)
})

test('a fetch that a client may not make is answered at once', async t => {
  const { connection, ask, bodyOf } = await open(t)
  connection.policy = NOTHING
  assert.deepEqual(rowOf(await ask(bodyOf(10_000))), DENIED)
})

test('a repeated fetch of a connection is checked again after its client has authenticated again', async t => {
  const { connection, ask, bodyOf } = await open(t)
  const body = bodyOf(0)
  assert.deepEqual(rowOf(await ask(body)), [0, 0])
  assert.deepEqual(rowOf(await ask(body)), [0, 0])
  connection.policy = NOTHING
  assert.deepEqual(rowOf(await ask(body)), DENIED)
  connection.policy = EVERYTHING
  assert.deepEqual(rowOf(await ask(body)), [0, 0])
})

// The lines of the log by which a client is followed: at DEBUG from its connection on, and at every level the fields of
// the request in lines that other rooms write behind an await (decision 0033).

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { enter } from '../../testing/group-calls.ts'
import { batchOf, fetchFrom, fetchOne, produceTo } from '../../testing/kafka.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { systemClock } from '../base/clock.ts'
import { replaceStoredOffsets } from '../coordinator/offsets/stored-offsets.ts'
import { CORRUPT_MESSAGE, NOT_COORDINATOR } from '../protocol/errors.ts'
import { fetch } from '../protocol/messages/fetch.ts'
import { metadata } from '../protocol/messages/metadata.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import { offsetFetch } from '../protocol/messages/offset-fetch.ts'
import type { Values } from '../settings/settings.ts'
import { streamId } from '../store/store.ts'
import type { Level } from '../telemetry/logger.ts'

async function start(t: TestContext, level: Level, overrides: Partial<Values> = {}, isShared = false) {
  const store = createMemoryStore(systemClock)
  t.after(async () => store.faults.release())
  const settings = {
    'logging.structured.format.console': 'logstash' as const,
    'logging.level': new Map([['root', level]]),
    ...overrides,
  }
  const broker = await startBroker(t, settings, { openStore: async () => store, isShared })
  const lines = () =>
    broker
      .log()
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>)
  return {
    ...broker,
    store,
    lines,
    saying: (text: RegExp) => lines().filter(({ message }) => text.test(String(message))),
  }
}

/** The fields of a log line that identify its request. */
const scopeOf = ({ correlationId, clientId, apiKey, apiVersion }: Record<string, unknown>) => [
  correlationId,
  clientId,
  apiKey,
  apiVersion,
]

test('at DEBUG a client is followed from its connection through its requests and its group to its end', async t => {
  const { connect, saying } = await start(t, 'DEBUG')
  const wire = await connect()
  await wire.send(metadata, 4, { topics: [{ name: 'orders' }] })
  await fetchOne(wire, 0, { maxWaitMs: 0 })
  const { memberId } = await enter(wire, 'g')
  await wire.close()
  await eventually('the connection is closed', async () => saying(/a connection is closed/).length === 1)
  const [opened] = saying(/a connection is opened/)
  assert.deepEqual([opened!.level, opened!.listener], ['DEBUG', 'PLAINTEXT'])
  const { connection } = opened!
  const answers = saying(/ is answered$/).filter(line => line.connection === connection)
  assert.deepEqual(
    answers.map(({ message, errors, result }) => [message, errors, result]),
    [
      ['Metadata is answered', undefined, 'success'],
      ['Fetch is answered', 'UNKNOWN_TOPIC_OR_PARTITION', 'success'],
      ['JoinGroup is answered', undefined, 'success'],
      ['SyncGroup is answered', undefined, 'success'],
    ],
  )
  for (const { ms } of answers) assert.equal(typeof ms, 'number')
  const [made] = saying(/generation 1 has these members/)
  assert.deepEqual([made!.level, made!.group, made!.leader], ['DEBUG', 'g', memberId])
  assert.match(String(made!.members), /^here-.* \(wire at .*127\.0\.0\.1\)$/)
  const [closed] = saying(/a connection is closed/)
  assert.deepEqual([closed!.connection, closed!.reason], [connection, 'client closed'])
})

test('at INFO a client that does nothing wrong leaves only the lines of its group', async t => {
  const { connect, lines } = await start(t, 'INFO')
  const before = lines().length
  const wire = await connect()
  await wire.send(metadata, 4, { topics: [{ name: 'orders' }] })
  await fetchOne(wire, 0, { maxWaitMs: 0 })
  await enter(wire, 'g')
  await wire.close()
  const loggers = new Set(
    lines()
      .slice(before)
      .map(({ logger_name }) => logger_name),
  )
  assert.deepEqual([...loggers], ['svc.coordinator.groups'])
})

test('a corrupt batch is logged with the fields of the fetch that reads it, at once or after a wait', async t => {
  const { connect, store, saying } = await start(t, 'INFO', { 'storage.local.tail-cache-bytes': 1 })
  const wire = await connect()
  const { topics } = await wire.send(metadata, 10, { topics: [{ name: 't' }] })
  const stream = streamId(topics[0]!.topicId, 0)
  const corrupt = () => saying(/a stored batch cannot be read/)
  await produceTo(wire, batchOf(['a']))
  await produceTo(wire, batchOf(['b']))
  store.faults.rot(stream, 0)
  const sent = { clientId: 'reader', correlationId: 77 }
  const { responses } = await wire.send(fetch, 12, fetchFrom(0), sent)
  assert.equal(responses[0]!.partitions[0]!.errorCode, CORRUPT_MESSAGE.code)
  assert.deepEqual(corrupt().map(scopeOf), [[77, 'reader', 'Fetch', 12]])
  assert.equal(corrupt()[0]!.partition, 't-0')

  const waiting = await connect()
  const release = store.faults.hold('read')
  const waited = waiting.send(fetch, 12, fetchFrom(2, { maxWaitMs: 10_000 }), { ...sent, correlationId: 78 })
  await fetchOne(wire, 2, { maxWaitMs: 50 })
  await produceTo(wire, batchOf(['c']))
  await produceTo(wire, batchOf(['d']))
  store.faults.rot(stream, 2)
  release()
  assert.equal((await waited).responses[0]!.partitions[0]!.errorCode, CORRUPT_MESSAGE.code)
  assert.deepEqual(corrupt().map(scopeOf)[1], [78, 'reader', 'Fetch', 12])
})

test('a group that another broker has written is logged with the fields of the OffsetFetch that finds it', async t => {
  const { connect, store, saying } = await start(t, 'INFO', {}, true)
  const wire = await connect()
  const { topics } = await wire.send(metadata, 10, { topics: [{ name: 't' }] })
  const partitions = [{ partitionIndex: 0, committedOffset: 5, committedMetadata: null }]
  const committed = { groupId: 'g', memberId: '', topics: [{ name: 't', partitions }] }
  assert.equal((await wire.send(offsetCommit, 8, committed)).topics[0]!.partitions[0]!.errorCode, 0)
  const replacement = { topicId: topics[0]!.topicId, partition: 0, isExpected: () => true, offset: 3 }
  assert.equal(await replaceStoredOffsets(store, 'g', [replacement], systemClock.now()), null)
  const asked = { groupId: 'g', topics: [{ name: 't', partitionIndexes: [0] }] }
  const { errorCode } = await wire.send(offsetFetch, 7, asked, { clientId: 'reader', correlationId: 79 })
  assert.equal(errorCode, NOT_COORDINATOR.code)
  const [line] = saying(/another coordinator has written this group/)
  assert.deepEqual(scopeOf(line!), [79, 'reader', 'OffsetFetch', 7])
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { startBrokerProcess } from '../../testing/process.ts'
import { createTopic } from '../../testing/topic.ts'
import { makeRecords } from '../client.ts'
import type { Running } from '../command.ts'
import { confluentPython, kafkaPython, startPython } from './client.ts'

const settings = { 'svc.broker.rebalance-delay': '100ms' }
const skip = confluentPython.absence() ?? false

interface Member {
  readonly running: Running
  /** Ends the member; it leaves the group. */
  leave(): Promise<void>
  events(): Promise<readonly { assigned?: number[]; revoked?: number[] }[]>
}

/** Starts a member of the group 'g' in a process of its own. */
function startMember(t: TestContext, address: string, pairs: readonly string[]): Member {
  const running = startPython('confluent.py', ['member', address, 'shared', 'g', ...pairs])
  t.after(() => void running.child.kill('SIGKILL'))
  return {
    running,
    async leave() {
      running.child.stdin!.end()
      await running.done
    },
    async events() {
      const output = await running.done
      return output
        .toString()
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line))
    },
  }
}

const sorted = (partitions: readonly number[] = []) => [...partitions].sort()

const assignedTo = (count: number) => (line: string) => JSON.parse(line).assigned?.length === count

test('cooperative members of librdkafka hand over only what moves', { skip, timeout: 240_000 }, async t => {
  const broker = await startBrokerProcess(t, { settings })
  await createTopic(broker, 'shared', 4)
  const pairs = ['partition.assignment.strategy=cooperative-sticky', 'session.timeout.ms=6000']
  const first = startMember(t, broker.address, pairs)
  await first.running.line(assignedTo(4))
  const second = startMember(t, broker.address, pairs)
  const moved = sorted(JSON.parse(await second.running.line(assignedTo(2))).assigned)
  await second.leave()
  await first.running.line(line => isDeepStrictEqual(sorted(JSON.parse(line).assigned), moved))
  await first.leave()
  const events = await first.events()
  assert.deepEqual(
    sorted(events.find(event => event.revoked)?.revoked),
    moved,
    'the first member gave up the partitions that the second got and kept the rest',
  )
})

test('a static member that comes back gets its old partitions, and no other member notices', {
  skip,
  timeout: 240_000,
}, async t => {
  const broker = await startBrokerProcess(t, { settings })
  await createTopic(broker, 'shared', 4)
  const member = (name: string) =>
    startMember(t, broker.address, [`group.instance.id=${name}`, 'session.timeout.ms=30000'])
  const other = member('other')
  await other.running.line(assignedTo(4))
  const leaving = member('leaving')
  const before = JSON.parse(await leaving.running.line(assignedTo(2))).assigned
  await other.running.line(assignedTo(2))
  await leaving.leave()
  const back = member('leaving')
  const after = JSON.parse(await back.running.line(line => JSON.parse(line).assigned !== undefined)).assigned
  assert.deepEqual(after, before)
  await back.leave()
  await other.leave()
  const assignments = (await other.events()).filter(event => event.assigned)
  assert.equal(assignments.length, 2, 'alone, then with the other; the restart changed nothing')
})

test('an idempotent librdkafka producer keeps order and count with small batches', { skip }, async t => {
  const broker = await startBrokerProcess(t, { settings })
  await createTopic(broker, 'once', 4, { 'retention.ms': '-1' })
  const records = makeRecords({ count: 5000, partitions: 4, codecs: ['lz4'], seed: 9 })
  const input = records.map(({ id, partition, timestamp }) => {
    const key = Buffer.from(`k${id}-`).toString('base64')
    return `${JSON.stringify({ key, value: null, headers: [], partition, timestamp, codec: 'lz4' })}\n`
  })
  const pairs = ['enable.idempotence=true', 'batch.num.messages=50', 'linger.ms=1']
  await startPython('confluent.py', ['produce', broker.address, 'once', ...pairs], input.join('')).done
  const received = await confluentPython.consume(broker.address, 'once', 'reader', records.length)
  const next = [0, 0, 0, 0]
  for (const { partition, key, offset } of received) {
    const place = next[partition]!++
    assert.equal(offset, place)
    assert.equal(key?.toString(), `k${place * 4 + partition}-`)
  }
})

test('kafka-python finds the versions by itself, although it requests metadata before the response arrives', async t => {
  const absence = kafkaPython.absence()
  if (absence !== null) return t.skip(absence)
  const broker = await startBrokerProcess(t, { settings })
  // Its first frames are ApiVersions 0 and Metadata 0, back to back. The Metadata request creates the topic.
  const records = makeRecords({ count: 100, partitions: 1, codecs: ['gzip'], seed: 2 })
  await kafkaPython.produce(broker.address, 'by-asking', records)
  const received = await kafkaPython.consume(broker.address, 'by-asking', 'g', 100)
  assert.deepEqual(
    received.map(record => record.offset),
    records.map((_, offset) => offset),
  )
})

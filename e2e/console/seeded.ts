// Fills a broker with everything that a page of the console can show: topics of each kind, records that are hard to
// show, groups with and without members, users, rules and credentials. Hostile names are in hostile.ts.

import assert from 'node:assert/strict'
import { joinGroup } from '../../src/protocol/messages/join-group.ts'
import { offsetCommit } from '../../src/protocol/messages/offset-commit.ts'
import { syncGroup } from '../../src/protocol/messages/sync-group.ts'
import { encodeBatch, type NewRecord } from '../../src/protocol/records.ts'
import type { AdminClient } from '../../testing/admin-client.ts'
import { eventually } from '../../testing/eventually.ts'
import { assigning, subscribing } from '../../testing/sim/groups.ts'
import type { Wire } from '../../testing/wire.ts'
import { appendBatch } from './records.ts'
import { must, type World } from './world.ts'

/** The names of what is there. */
export const NAMES = Object.freeze({
  topic: 'orders',
  /** A topic with the most partitions that the settings allow. */
  wide: 'clicks',
  long: `${'a-rather-long-name-of-a-topic.'.repeat(8)}`,
  /** A topic without records. */
  empty: 'nothing-yet',
  /** The topic of the records that are hard to show. */
  odd: 'odd-records',
  /** A compacted topic with a cleaned segment and an active one. */
  compacted: 'balances',
  /** A group without members that is behind. */
  idleGroup: 'billing',
  /** A group with a member. */
  liveGroup: 'shipping',
})

const LONGEST_TOPIC = 240
const PARTITIONS = { [NAMES.topic]: 3, [NAMES.wide]: 128, [NAMES.long]: 1, [NAMES.empty]: 1, [NAMES.odd]: 1 }
const ORDERS = 120
/** A member that sends no heartbeats stays this long, in milliseconds. */
const SESSION_MS = 1_800_000
export const BIG_BYTES = 5_000_000

/** The records that are hard to show, by the offset that they get. */
export const ODD: readonly NewRecord[] = [
  { key: null, value: null },
  { key: '', value: '' },
  { key: 'not text', value: Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28]) },
  { key: 'framed', value: Buffer.from([0, 0, 0, 0, 7, 1, 2, 3]) },
  {
    key: 'headers',
    value: '{"id":73314510714175488,"price":1.10,"id":2,"nested":{"10":"ten","9":"nine"}}',
    headers: [
      { key: 'trace', value: 'first' },
      { key: 'trace', value: 'second' },
      { key: 'nothing', value: null },
    ],
  },
  { key: 'marks', value: 'left \u202E right \u0007 bell \u0000 end' },
  { key: 'big', value: `{"padding":"${'0123456789'.repeat(BIG_BYTES / 10)}"}` },
]

/** Produces the records as one batch. */
export async function produceAs(wire: Wire, name: string, index: number, records: readonly NewRecord[]) {
  const timestamp = Date.now() - 60_000
  const batch = encodeBatch(records.map((record, at) => ({ timestamp: timestamp + at, ...record })))
  await appendBatch(wire, name, index, batch)
}

/** Commits the offset of partition 0 for a group without members. */
export async function commitAs(wire: Wire, groupId: string, name: string, committedOffset: number) {
  const partitions = [{ partitionIndex: 0, committedOffset, committedMetadata: '' }]
  const { topics } = await wire.send(offsetCommit, 8, { groupId, memberId: '', topics: [{ name, partitions }] })
  assert.equal(topics[0]!.partitions[0]!.errorCode, 0, `committing for ${groupId}`)
}

/** Lets a static member join that reads partition 0, under this name of its client. It stays until the wire closes. */
export async function joinAs(wire: Wire, groupId: string, topic: string, clientId: string, instanceId: string) {
  const timeouts = { sessionTimeoutMs: SESSION_MS, rebalanceTimeoutMs: 10_000 }
  const asked = { groupId, memberId: '', groupInstanceId: instanceId, protocolType: 'consumer', ...timeouts }
  const joined = await wire.send(joinGroup, 9, { ...asked, ...subscribing(topic) }, { clientId })
  assert.equal(joined.errorCode, 0, `joining ${groupId}`)
  const { memberId, generationId } = joined
  const assignments = [{ memberId, assignment: assigning({ [topic]: [0] }) }]
  await wire.send(syncGroup, 3, { groupId, generationId, memberId, groupInstanceId: instanceId, assignments })
}

/** Makes the compacted topic, with a round of the storage worker between its records. */
async function makeSegments(admin: AdminClient, wire: Wire): Promise<void> {
  // Each round seals all that was appended before it.
  const configs = { 'cleanup.policy': 'compact', 'segment.ms': '1', 'min.cleanable.dirty.ratio': '0' }
  await must(admin, 'POST', '/api/v1/topics', { name: NAMES.compacted, partitions: 1, configs })
  const records = Array.from({ length: ORDERS }, (_, at) => ({ key: `account ${at % 7}`, value: `${at}` }))
  await produceAs(wire, NAMES.compacted, 0, records)
  await eventually('a round of the storage worker has cleaned', async () => {
    const { body } = await admin.ask('POST', '/api/v1/storage/worker/run')
    return body.round?.brokers.some(({ cleaned }: { readonly cleaned: number }) => cleaned > 0) === true
  })
  await produceAs(wire, NAMES.compacted, 0, records.slice(0, 7))
}

/** Fills the broker. The names are those of NAMES. */
export async function seed({ admin, connect }: World): Promise<void> {
  assert.equal(NAMES.long.length, LONGEST_TOPIC)
  for (const [name, partitions] of Object.entries(PARTITIONS)) {
    const configs =
      name === NAMES.odd ? { 'max.message.bytes': String(2 * BIG_BYTES) } : { 'retention.ms': '604800000' }
    await must(admin, 'POST', '/api/v1/topics', { name, partitions, configs })
  }
  const wire = await connect()
  for (let partition = 0; partition < PARTITIONS[NAMES.topic]!; partition++) {
    const records = Array.from({ length: ORDERS }, (_, at) => ({
      key: `customer ${at % 7}`,
      value: JSON.stringify({ order: at, partition, total: at * 1.5, items: ['a', 'b'] }),
      headers: [{ key: 'source', value: 'shop' }],
    }))
    await produceAs(wire, NAMES.topic, partition, records)
  }
  await produceAs(wire, NAMES.long, 0, [{ key: 'k', value: 'plain text' }])
  await makeSegments(admin, wire)
  for (const record of ODD) await produceAs(wire, NAMES.odd, 0, [record])

  await commitAs(wire, NAMES.idleGroup, NAMES.topic, 20)
  await commitAs(wire, NAMES.idleGroup, NAMES.odd, 1)
  await commitAs(wire, NAMES.long, NAMES.long, 0)
  await commitAs(wire, NAMES.liveGroup, NAMES.topic, 100)
  await joinAs(await connect(), NAMES.liveGroup, NAMES.topic, 'shipping-service', 'shipping-1')

  const rule = { principal: 'alice', resourceType: 'TOPIC', operation: 'READ' }
  for (const resource of [NAMES.topic, 'cli*', NAMES.long])
    await must(admin, 'POST', '/api/v1/acls', { ...rule, resource })
  await must(admin, 'POST', '/api/v1/acls', { ...rule, resourceType: 'GROUP', resource: NAMES.idleGroup })
  const password = 'a password of alice'
  await must(admin, 'POST', '/api/v1/credentials', { username: 'alice', mechanism: 'SCRAM-SHA-256', password })
  await must(admin, 'POST', '/api/v1/users', { username: 'olga', password: 'another administrator', role: 'ADMIN' })
}

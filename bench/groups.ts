// Measures the cost of consumer groups: the time until a large group works again after its last member joined, the
// processor time of this, and the cost of members that only send heartbeats. The members are raw clients in this
// process, each on a connection of its own; the broker is another process.

import { encodeMessage } from '../src/protocol/codec.ts'
import { MEMBER_ID_REQUIRED, NONE } from '../src/protocol/errors.ts'
import { consumerProtocolAssignment, consumerProtocolSubscription } from '../src/protocol/messages/consumer-protocol.ts'
import { heartbeat } from '../src/protocol/messages/heartbeat.ts'
import { joinGroup } from '../src/protocol/messages/join-group.ts'
import { syncGroup } from '../src/protocol/messages/sync-group.ts'
import type { ResponseOf } from '../src/protocol/schema.ts'
import { connect, type Wire } from '../testing/wire.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question, writtenBytes } from './harness.ts'

const TOPIC = 'bench'
/** The default of `svc.broker.rebalance-delay`. */
const DELAY_MS = 3_000
/** The default interval at which a consumer sends heartbeats (`heartbeat.interval.ms`). */
const HEARTBEAT_MS = 3_000

interface Member {
  readonly wire: Wire
  readonly groupId: string
  memberId: string
  generationId: number
}

/** The cost of a rebalance, counted from the moment at which its last member had sent its JoinGroup. */
interface Rebalance {
  readonly seconds: number
  readonly cpuSeconds: number
}

export const groups: Question = {
  name: 'groups',
  asks: 'rebalances and heartbeats of consumer groups: time and processor time',
  async answer(harness) {
    const broker = await harness.broker()
    const { pid, port } = broker
    await harness.topic(port, TOPIC, 128)
    const open = async (group: number, count: number): Promise<Member[]> => {
      const wires = await Promise.all(Array.from({ length: count }, () => connect({ port })))
      harness.after(async () => void (await Promise.all(wires.map(wire => wire.close()))))
      return wires.map(wire => ({ wire, groupId: `group-${group}`, memberId: '', generationId: -1 }))
    }
    const timed = (all: readonly (readonly Member[])[]) => rebalance(pid, all)

    const large = await open(0, 200)
    const first = await timed([large])
    const again: Rebalance[] = []
    for (let round = 0; round < harness.rounds; round++) again.push(await timed([large]))

    const small = await Promise.all(Array.from({ length: 50 }, (_, index) => open(index + 1, 10)))
    const firstOfSmall = await timed(small)
    const againOfSmall: Rebalance[] = []
    for (let round = 0; round < harness.rounds; round++) againOfSmall.push(await timed(small))

    const more = await Promise.all(Array.from({ length: 30 }, (_, index) => open(index + 51, 10)))
    await timed(more)
    const members = [large, ...small, ...more].flat()
    const beating = await beat(harness, pid, members)

    return [
      ...findingsOf('first rebalance of 200 members', [first], DELAY_MS / 1_000),
      ...findingsOf('rebalance of 200 members', again, 0),
      ...findingsOf('first rebalance of 50 groups of 10', [firstOfSmall], DELAY_MS / 1_000),
      ...findingsOf('rebalance of 50 groups of 10', againOfSmall, 0),
      {
        what: `heartbeats of ${members.length} members, one in ${HEARTBEAT_MS / 1_000} s each`,
        value: beating.corePercent,
        unit: '% of a core',
        ceiling: 5,
        notes: `${beating.count} heartbeats`,
      },
      { what: 'written to the disk meanwhile', value: beating.writtenBytes, unit: 'bytes', ceiling: 0 },
    ]
  },
}

function findingsOf(what: string, all: readonly Rebalance[], delaySeconds: number): Finding[] {
  const seconds = all.map(one => one.seconds)
  const cpu = all.map(one => one.cpuSeconds)
  const beyond = delaySeconds === 0 ? {} : { notes: `of which the rebalance delay is ${delaySeconds} s` }
  const ceiling = 1 + delaySeconds
  return [
    { what: `${what}, from its last join`, value: median(seconds), unit: 's', ceiling, samples: seconds, ...beyond },
    { what: `${what}, processor`, value: median(cpu), unit: 's of CPU', ceiling: 1, samples: cpu },
  ]
}

/** Lets every member join, or join again, and waits until it has its assignment. */
async function rebalance(pid: number, groups: readonly (readonly Member[])[]): Promise<Rebalance> {
  const cpuBefore = cpuSeconds(pid)
  for (const members of groups) for (const member of members) if (member.memberId === '') await promise(member)
  // The metadata differs from round to round, so that the broker does not answer that nothing has changed.
  const userData = Buffer.from(String(performance.now()))
  const settled = groups.flatMap(members => members.map(member => enter(member, members.length, userData)))
  const lastJoinAt = performance.now()
  await Promise.all(settled)
  return { seconds: (performance.now() - lastJoinAt) / 1_000, cpuSeconds: cpuSeconds(pid) - cpuBefore }
}

const joining = ({ groupId, memberId }: Member, userData: Buffer) => ({
  ...{ groupId, memberId, sessionTimeoutMs: 45_000, rebalanceTimeoutMs: 300_000, protocolType: 'consumer' },
  protocols: ['range', 'cooperative-sticky'].map(name => ({
    name,
    metadata: versioned(encodeMessage(consumerProtocolSubscription, 1, { topics: [TOPIC], userData })),
  })),
})

async function promise(member: Member): Promise<void> {
  const answer = await member.wire.send(joinGroup, 9, joining(member, Buffer.alloc(0)))
  expect(answer.errorCode, MEMBER_ID_REQUIRED.code, 'a first JoinGroup')
  member.memberId = answer.memberId
}

async function enter(member: Member, of: number, userData: Buffer): Promise<void> {
  const joined = await member.wire.send(joinGroup, 9, joining(member, userData))
  expect(joined.errorCode, NONE, 'a JoinGroup')
  member.generationId = joined.generationId
  const { groupId, memberId, generationId } = member
  const assignments = joined.leader === memberId ? assign(joined, of) : []
  const synced = await member.wire.send(syncGroup, 5, {
    ...{ groupId, memberId, generationId, assignments },
    ...{ protocolType: joined.protocolType, protocolName: joined.protocolName },
  })
  expect(synced.errorCode, NONE, 'a SyncGroup')
}

function assign({ members }: ResponseOf<typeof joinGroup>, of: number) {
  if (members.length !== of) throw new Error(`the leader is told of ${members.length} members, ${of} joined`)
  return members.map(({ memberId }, index) => {
    const assignedPartitions = [{ topic: TOPIC, partitions: index < 128 ? [index] : [] }]
    const assignment = versioned(encodeMessage(consumerProtocolAssignment, 1, { assignedPartitions, userData: null }))
    return { memberId, assignment }
  })
}

/** Sends the heartbeats of all members, spread evenly over their interval. */
async function beat({ seconds, say }: Harness, pid: number, members: readonly Member[]) {
  // The pause lets the store finish its work of the rebalances, so that it is not counted here.
  await new Promise(resolve => setTimeout(resolve, 5_000))
  const rounds = Math.max(3, Math.ceil((seconds * 1_000) / HEARTBEAT_MS))
  const startedAt = performance.now()
  const before = { cpu: cpuSeconds(pid), bytes: writtenBytes(pid) }
  const answers: Promise<void>[] = []
  for (let count = 0; count < rounds * members.length; count++) {
    const dueAt = startedAt + (count / members.length) * HEARTBEAT_MS
    const waitMs = dueAt - performance.now()
    if (waitMs > 1) await new Promise(resolve => setTimeout(resolve, waitMs))
    const { wire, groupId, memberId, generationId } = members[count % members.length]!
    const answer = wire.send(heartbeat, 4, { groupId, memberId, generationId })
    answers.push(answer.then(({ errorCode }) => expect(errorCode, NONE, 'a Heartbeat')))
  }
  await Promise.all(answers)
  const elapsed = (performance.now() - startedAt) / 1_000
  const corePercent = (100 * (cpuSeconds(pid) - before.cpu)) / elapsed
  say(`${answers.length} heartbeats in ${elapsed.toFixed(1)} s`)
  return { count: answers.length, corePercent, writtenBytes: writtenBytes(pid) - before.bytes }
}

function versioned(message: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.from([0, 1]), ...message])
}

function expect(code: number, expected: number, to: string): void {
  if (code !== expected) throw new Error(`the broker answered error ${code} to ${to}, ${expected} was expected`)
}

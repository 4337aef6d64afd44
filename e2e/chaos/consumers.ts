// The consumers of a chaos run, on the raw wire: a follower that reads every partition by itself, members of a
// classic group that commit, and the last reader, which reads all records from the beginning.

import { decodeMessage, encodeMessage } from '../../src/protocol/codec.ts'
import { CORRUPT_MESSAGE, errors } from '../../src/protocol/errors.ts'
import {
  consumerProtocolAssignment,
  consumerProtocolSubscription,
} from '../../src/protocol/messages/consumer-protocol.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { heartbeat } from '../../src/protocol/messages/heartbeat.ts'
import { joinGroup } from '../../src/protocol/messages/join-group.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { offsetCommit } from '../../src/protocol/messages/offset-commit.ts'
import { offsetFetch } from '../../src/protocol/messages/offset-fetch.ts'
import { syncGroup } from '../../src/protocol/messages/sync-group.ts'
import { readRecords, splitBatches } from '../../src/protocol/records.ts'
import type { Micro, Seen } from '../../testing/history.ts'
import { reconnectLater } from './producers.ts'
import type { Caller, Run } from './run.ts'

const FETCH_VERSION = 12
const PARTITION_MAX_BYTES = 256 * 1024
const MAX_WAIT_MS = 100

function nameOf(errorCode: number): string {
  return errors.find(error => error.code === errorCode)?.name ?? `error ${errorCode}`
}

/** Fetches once from each position, moves the positions, and returns what was seen. Throws on any error code. */
async function pollOnce(wire: Caller, run: Run, positions: Map<number, number>): Promise<Micro> {
  const { errorCode, responses } = await wire.send(fetch, FETCH_VERSION, {
    maxWaitMs: MAX_WAIT_MS,
    minBytes: 1,
    maxBytes: 4 * 1024 * 1024,
    topics: [
      {
        topic: run.topic,
        partitions: [...positions].map(([partition, fetchOffset]) => ({
          partition,
          fetchOffset,
          partitionMaxBytes: PARTITION_MAX_BYTES,
        })),
      },
    ],
    forgottenTopicsData: [],
  })
  if (errorCode !== 0) throw new Error(`Fetch returned ${nameOf(errorCode)}`)
  const polled: Record<string, Seen[]> = {}
  for (const answer of responses.flatMap(response => response.partitions)) {
    const from = positions.get(answer.partitionIndex)!
    if (answer.errorCode === CORRUPT_MESSAGE.code && run.isDamaged) continue
    if (answer.errorCode !== 0) {
      throw new Error(`Fetch of ${run.key(answer.partitionIndex)} at ${from} returned ${nameOf(answer.errorCode)}`)
    }
    const seen: Seen[] = []
    const numberOf = run.compaction?.valueOf ?? (({ value }) => Number(value))
    for (const batch of splitBatches(answer.records ?? Buffer.alloc(0))) {
      for (const record of await readRecords(batch.bytes)) {
        // A response contains the whole batch, which may begin before the position.
        if (record.offset < from) continue
        seen.push([record.offset, numberOf(record), batch.crc])
      }
      // The cleaner may have emptied the batch.
      positions.set(answer.partitionIndex, batch.lastOffset + 1)
    }
    if (seen.length > 0) polled[run.key(answer.partitionIndex)] = seen
  }
  return ['poll', polled]
}

/** Records one poll. After a lost connection its outcome is unknown. */
async function recordPoll(wire: Caller, run: Run, process: number, positions: Map<number, number>): Promise<void> {
  const begun = run.history.begin(process, 'poll', [['poll']])
  try {
    begun.ok([await pollOnce(wire, run, positions)])
  } catch (error) {
    begun.info(String(error))
    throw error
  }
}

function everyPartition(run: Run): Map<number, number> {
  return new Map(Array.from({ length: run.partitions }, (_, partition) => [partition, 0]))
}

/** Reads all partitions from 0. After a lost connection it continues at its positions. */
export async function runFollower(run: Run): Promise<void> {
  const positions = everyPartition(run)
  while (!run.stopping) {
    const wire = await run.connect()
    const process = run.history.process()
    try {
      while (!run.stopping) {
        await recordPoll(wire, run, process, positions)
        await run.pause(run.paceMs)
      }
    } catch (error) {
      await reconnectLater(run, error)
    } finally {
      await wire.close()
    }
  }
}

/** Reads everything from 0 up to the end that the broker names, and the group's committed offsets. */
export async function readEverything(run: Run, group: string): Promise<void> {
  const wire = await run.connect()
  const process = run.history.process()
  try {
    const { topics } = await wire.send(listOffsets, 7, {
      replicaId: -1,
      isolationLevel: 0,
      topics: [
        {
          name: run.topic,
          partitions: [...everyPartition(run).keys()].map(partitionIndex => ({ partitionIndex, timestamp: -1 })),
        },
      ],
    })
    const positions = everyPartition(run)
    const ends = topics.flatMap(topic => topic.partitions)
    for (const end of ends) if (end.errorCode !== 0) throw new Error(`ListOffsets returned ${nameOf(end.errorCode)}`)
    while (ends.some(end => positions.get(end.partitionIndex)! < end.offset)) {
      await recordPoll(wire, run, process, positions)
    }
    await readCommitted(wire, run, process, { group })
  } finally {
    await wire.close()
  }
}

interface Membership {
  readonly group: string
  readonly generation?: number
}

/** Reads and records the group's committed offset of every partition; null if the partition has no offset. */
async function readCommitted(
  wire: Caller,
  run: Run,
  process: number,
  membership: Membership,
): Promise<ReadonlyMap<number, number | null>> {
  const partitionIndexes = [...everyPartition(run).keys()]
  const begun = run.history.begin(process, 'committed', [['committed']], membership)
  try {
    const { groups } = await wire.send(offsetFetch, 9, {
      groups: [{ groupId: membership.group, topics: [{ name: run.topic, partitionIndexes }] }],
      requireStable: true,
    })
    const answer = groups[0]!
    if (answer.errorCode !== 0) throw new GroupRefusal(answer.errorCode)
    const offsets = new Map<number, number | null>()
    for (const { partitionIndex, committedOffset, errorCode } of answer.topics.flatMap(topic => topic.partitions)) {
      if (errorCode !== 0) throw new GroupRefusal(errorCode)
      offsets.set(partitionIndex, committedOffset === -1 ? null : committedOffset)
    }
    const read = Object.fromEntries([...offsets].map(([partition, offset]) => [run.key(partition), offset]))
    begun.ok([['committed', read]])
    return offsets
  } catch (error) {
    begun.info(String(error))
    throw error
  }
}

class GroupRefusal extends Error {
  override readonly name = 'GroupRefusal'
  readonly code: number
  constructor(code: number) {
    super(nameOf(code))
    this.code = code
  }
}

const MEMBER_ID_REQUIRED = 79
const UNKNOWN_MEMBER_ID = 25
/** The error of a member's commit (KIP-848) if the store has lost the whole group. */
const GROUP_ID_NOT_FOUND = 69
/** Errors after which a member joins again with its member id. */
const REJOIN: readonly number[] = [22, 27]
/** Errors that go away with time. */
const PASSING: readonly number[] = [14, 15, 16]

const POLLS_BEFORE_COMMIT = 3

interface MemberOptions {
  /** The store may lose acknowledged data, so that a lost group is no error. */
  readonly mayLose?: boolean
  /** Called if the coordinator refuses for a while. The member then joins again. */
  readonly refusedForAWhile?: () => void
}

/**
 * A member of a classic group: it joins, takes its partitions, polls and commits. If the group removes it, it joins
 * again.
 */
export async function runGroupMember(
  run: Run,
  group: string,
  { mayLose = false, refusedForAWhile = () => {} }: MemberOptions = {},
): Promise<void> {
  let memberId = ''
  while (!run.stopping) {
    const wire = await run.connect()
    let process = run.history.process()
    try {
      while (!run.stopping) {
        try {
          const joined = await join(wire, run, group, memberId, process, id => {
            memberId = id
          })
          await consume(wire, run, process, joined)
        } catch (error) {
          if (!(error instanceof GroupRefusal)) throw error
          if (error.code === UNKNOWN_MEMBER_ID || (mayLose && error.code === GROUP_ID_NOT_FOUND)) memberId = ''
          else if (PASSING.includes(error.code)) {
            refusedForAWhile()
            await run.pause(20)
          } else if (!REJOIN.includes(error.code)) throw error
          process = run.history.process()
        }
      }
    } catch (error) {
      await reconnectLater(run, error)
    } finally {
      await wire.close()
    }
  }
}

interface Joined extends Membership {
  readonly generation: number
  readonly memberId: string
  readonly partitions: readonly number[]
}

async function join(
  wire: Caller,
  run: Run,
  groupId: string,
  knownId: string,
  process: number,
  learnId: (memberId: string) => void,
): Promise<Joined> {
  const metadata = versioned(
    1,
    encodeMessage(consumerProtocolSubscription, 1, { topics: [run.topic], ownedPartitions: [] }),
  )
  const request = {
    groupId,
    sessionTimeoutMs: 6_000,
    rebalanceTimeoutMs: 6_000,
    protocolType: 'consumer',
    protocols: [{ name: 'range', metadata }],
  }
  const begun = run.history.begin(process, 'subscribe', [['keys', []]])
  try {
    let answer = await wire.send(joinGroup, 9, { ...request, memberId: knownId })
    if (answer.errorCode === MEMBER_ID_REQUIRED) {
      learnId(answer.memberId)
      answer = await wire.send(joinGroup, 9, { ...request, memberId: answer.memberId })
    }
    if (answer.errorCode !== 0) throw new GroupRefusal(answer.errorCode)
    const { memberId, generationId, members } = answer
    learnId(memberId)
    const isLeader = answer.leader === memberId
    const synced = await wire.send(syncGroup, 5, {
      groupId,
      generationId,
      memberId,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: isLeader ? assign(run, members.map(member => member.memberId).sort()) : [],
    })
    if (synced.errorCode !== 0) throw new GroupRefusal(synced.errorCode)
    const assignment = Buffer.from(synced.assignment)
    const version = assignment.readInt16BE(0)
    const { assignedPartitions } = decodeMessage(consumerProtocolAssignment, version, assignment, 2)
    const partitions = assignedPartitions.flatMap(topic => topic.partitions)
    const membership = { group: groupId, generation: generationId }
    begun.ok([['keys', partitions.map(run.key)]], membership)
    return { ...membership, memberId, partitions }
  } catch (error) {
    begun.info(String(error))
    throw error
  }
}

function assign(run: Run, memberIds: readonly string[]) {
  return memberIds.map((memberId, place) => {
    const partitions = [...everyPartition(run).keys()].filter(partition => partition % memberIds.length === place)
    const value = { assignedPartitions: [{ topic: run.topic, partitions }] }
    return { memberId, assignment: versioned(1, encodeMessage(consumerProtocolAssignment, 1, value)) }
  })
}

/** Puts the version before the struct, as the consumer protocol does. */
function versioned(version: number, parts: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(2)
  head.writeInt16BE(version)
  return Buffer.concat([head, ...parts])
}

/** Polls and commits until the group refuses this member (throws GroupRefusal) or the run stops. */
async function consume(wire: Caller, run: Run, process: number, joined: Joined): Promise<void> {
  const { group: groupId, generation, memberId } = joined
  const membership = { group: groupId, generation }
  const committed = await readCommitted(wire, run, process, membership)
  const positions = new Map(joined.partitions.map(partition => [partition, committed.get(partition) ?? 0]))
  for (let polls = 1; !run.stopping; polls++) {
    const beat = await wire.send(heartbeat, 4, { groupId, generationId: generation, memberId })
    if (beat.errorCode !== 0) throw new GroupRefusal(beat.errorCode)
    if (positions.size === 0) {
      await run.pause(MAX_WAIT_MS)
      continue
    }
    await recordPoll(wire, run, process, positions)
    await run.pause(run.paceMs)
    if (polls % POLLS_BEFORE_COMMIT === 0) await commit(wire, run, process, joined, positions)
  }
}

async function commit(
  wire: Caller,
  run: Run,
  process: number,
  joined: Joined,
  positions: ReadonlyMap<number, number>,
): Promise<void> {
  const { group, generation, memberId } = joined
  const written = Object.fromEntries([...positions].map(([partition, offset]) => [run.key(partition), offset]))
  const begun = run.history.begin(process, 'commit', [['commit', written]], { group, generation })
  let answer: { topics: readonly { partitions: readonly { errorCode: number }[] }[] }
  try {
    answer = await wire.send(offsetCommit, 9, {
      groupId: group,
      generationIdOrMemberEpoch: generation,
      memberId,
      topics: [
        {
          name: run.topic,
          partitions: [...positions].map(([partitionIndex, committedOffset]) => ({
            partitionIndex,
            committedOffset,
            committedMetadata: null,
          })),
        },
      ],
    })
  } catch (error) {
    begun.info(String(error))
    throw error
  }
  const refused = answer.topics.flatMap(topic => topic.partitions).find(partition => partition.errorCode !== 0)
  if (refused === undefined) {
    begun.ok([['commit', written]])
    return
  }
  // A coordinator that lost its store may have written the commit. A coordinator with another generation has not.
  if (PASSING.includes(refused.errorCode)) begun.info(nameOf(refused.errorCode))
  else begun.fail(nameOf(refused.errorCode))
  throw new GroupRefusal(refused.errorCode)
}

// Resets a consumer group's offsets in two steps. The preview changes nothing and returns a token. The change takes
// the token and applies exactly the rows that the preview showed. It applies no row if one of them has changed
// meanwhile or a member has joined the group.
//
// The token contains the rows, signed with a key that the brokers share through the store. So any broker can apply
// it, and no broker must remember it.
//
// base64url( HMAC-SHA256 of the rest (32 bytes) | deflated JSON )

import { createHmac, timingSafeEqual } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { makeSharedKey } from '../../auth/shared-key.ts'
import type { Clock } from '../../base/clock.ts'
import { patience } from '../../base/patience.ts'
import type { Random } from '../../base/random.ts'
import { CHANGED, type OffsetReplacement } from '../../coordinator/offsets/offset-replacement.ts'
import { replaceStoredOffsets } from '../../coordinator/offsets/stored-offsets.ts'
import type { Topic } from '../../log/catalogue.ts'
import {
  because,
  GROUP_ID_NOT_FOUND,
  INVALID_REQUEST,
  isRefusal,
  NON_EMPTY_GROUP,
  type Refusal,
  UNKNOWN_TOPIC_OR_PARTITION,
} from '../../protocol/errors.ts'
import type { Store } from '../../store/store.ts'
import type { CommittedPosition, GroupPosition } from '../contract.ts'
import { type Bounds, boundsOf, offsetsForTime, type Place } from '../reach.ts'
import { type ClusterGroupRooms, describeGroupsOfCluster } from './cluster-groups.ts'
import type { ResetPreview, ResetRequest, ResetRow } from './groups-contract.ts'
import { describePositions, keyOf, type PositionRooms } from './positions.ts'

export type ResetRooms = PositionRooms &
  ClusterGroupRooms & { readonly clock: Clock; readonly random: Random; readonly store: Store }

/** How long a token is valid. In that time the operator reads the rows and types the group's name. */
const TOKEN_MS = 15 * 60_000

/** How long the search for the offsets of a time may take. */
const LOOK_UP_MS = 10_000

const MAX_TOKEN_BYTES = 16 * 1024 * 1024

/**
 * The token is invalid or has expired, or the offsets or the request differ from those in the token. The caller needs
 * a new preview.
 */
export const OUTDATED = 'outdated'

/**
 * Resolves to the changes that the reset would make, or to a refusal: GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION,
 * INVALID_REQUEST (the offset does not exist).
 */
export async function previewReset(rooms: ResetRooms, request: ResetRequest): Promise<ResetPreview | Refusal> {
  const { groupId } = request
  const view = (await describeGroupsOfCluster(rooms, [groupId])).get(groupId) ?? GROUP_ID_NOT_FOUND
  if (isRefusal(view)) return view
  const rows = await rowsOf(rooms, request)
  if (isRefusal(rows)) return rows
  const members = view.members.length === 1 ? '1 member' : `${view.members.length} members`
  const blockedBy =
    view.state === 'Empty'
      ? null
      : because(NON_EMPTY_GROUP, `The group is ${view.state} with ${members}. Stop its consumers first.`)
  const token = blockedBy === null ? await sign(rooms, request, rows) : null
  return { rows, blockedBy, token }
}

/**
 * Applies all rows of the token and resolves to them. If it applies no row, resolves to OUTDATED, NON_EMPTY_GROUP or
 * GROUP_ID_NOT_FOUND.
 */
export async function applyReset(
  rooms: ResetRooms,
  request: ResetRequest,
  token: string,
): Promise<readonly ResetRow[] | Refusal | typeof OUTDATED> {
  const { cluster, groups, store, clock, catalogue } = rooms
  const { groupId } = request
  const shown = await verify(rooms, request, token)
  if (shown === null) return OUTDATED
  const isThere = ({ topicId, partition }: ResetRow) =>
    partition < (catalogue.current().topicsById.get(topicId)?.partitions ?? 0)
  if (!shown.every(isThere)) return OUTDATED
  const replacements = shown.map(({ topicId, partition, committed, newOffset }): OffsetReplacement => {
    return { topicId, partition, offset: newOffset, isExpected: found => isSame(found, committed) }
  })
  const outcome =
    cluster.coordinatorOf(groupId) === cluster.brokerId
      ? await groups.replaceOffsets(groupId, replacements)
      : await replaceStoredOffsets(store, groupId, replacements, clock.now())
  if (outcome === CHANGED) return OUTDATED
  return outcome ?? shown
}

function isSame(one: CommittedPosition | null, other: CommittedPosition | null): boolean {
  if (one === null || other === null) return one === other
  return (
    one.offset === other.offset &&
    one.leaderEpoch === other.leaderEpoch &&
    one.commitTimestampMs === other.commitTimestampMs &&
    one.metadata === other.metadata
  )
}

// ---- rows

async function rowsOf(rooms: ResetRooms, { groupId, scope, target }: ResetRequest): Promise<ResetRow[] | Refusal> {
  const positions = (await describePositions(rooms, [groupId])).get(groupId)!
  const byPartition = new Map(positions.map(each => [keyOf(each.topicId, each.partition), each]))
  const chosen = choose(rooms, scope, positions)
  if (isRefusal(chosen)) return chosen
  const bounds = await boundsOf(rooms, chosen)
  const times = target.to === 'timestamp' ? await timesOf(rooms, chosen, target.timestampMs) : null
  const rows: ResetRow[] = []
  for (const [at, { topic, partition }] of chosen.entries()) {
    const known = byPartition.get(keyOf(topic.id, partition))
    // The group has no position that could be cleared.
    if (target.to === 'clear' && known === undefined) continue
    const ends = bounds[at]!
    const newOffset = newOffsetOf(target, `${topic.name}-${partition}`, ends, times?.[at] ?? null)
    if (isRefusal(newOffset)) return newOffset
    rows.push({
      topic: topic.name,
      topicId: topic.id,
      partition,
      committed: known?.committed ?? null,
      deliveredOffset: known?.deliveredOffset ?? null,
      memberId: known?.memberId ?? null,
      startOffset: isRefusal(ends) ? null : ends.start,
      endOffset: isRefusal(ends) ? null : ends.end,
      newOffset,
    })
  }
  return rows
}

function timesOf(rooms: ResetRooms, chosen: readonly Place[], timestampMs: number) {
  const { clock } = rooms
  return offsetsForTime(rooms, chosen, timestampMs, patience(clock, clock.monotonic() + LOOK_UP_MS))
}

function choose(
  { catalogue }: ResetRooms,
  { topics, partitions }: ResetRequest['scope'],
  positions: readonly GroupPosition[],
): readonly Place[] | Refusal {
  const { topics: byName } = catalogue.current()
  const chosen = new Map<string, Place>()
  const add = (topic: Topic, partition: number) => chosen.set(keyOf(topic.id, partition), { topic, partition })
  if (topics.length === 0 && partitions.length === 0) {
    for (const { topic: name, partition } of positions) {
      const topic = byName.get(name)
      if (topic !== undefined) add(topic, partition)
    }
  }
  for (const name of topics) {
    const topic = byName.get(name)
    if (topic === undefined) return because(UNKNOWN_TOPIC_OR_PARTITION, `There is no topic ${name}.`)
    for (let partition = 0; partition < topic.partitions; partition++) add(topic, partition)
  }
  for (const { topic: name, partition } of partitions) {
    const topic = byName.get(name)
    if (topic === undefined || partition >= topic.partitions)
      return because(UNKNOWN_TOPIC_OR_PARTITION, `There is no partition ${partition} of ${name}.`)
    add(topic, partition)
  }
  return [...chosen.values()]
}

/**
 * Returns the new offset of one partition. `found` is the offset of the first record at or after the requested time;
 * null if all records are older.
 */
function newOffsetOf(
  target: ResetRequest['target'],
  place: string,
  bounds: Bounds | Refusal,
  found: number | null | Refusal,
): number | null | Refusal {
  if (target.to === 'clear') return null
  if (isRefusal(bounds)) return bounds
  const { start, end } = bounds
  switch (target.to) {
    case 'earliest':
      return start
    case 'latest':
      return end
    case 'offset':
      if (target.offset >= start && target.offset <= end) return target.offset
      return because(INVALID_REQUEST, `${place} has offsets from ${start} to ${end}, not ${target.offset}.`)
    case 'timestamp':
      return found ?? end
  }
}

// ---- the token

/** The content of a token. */
interface Signed {
  readonly groupId: string
  readonly asked: unknown
  readonly expiresAtMs: number
  readonly rows: readonly ResetRow[]
}

async function sign(rooms: ResetRooms, request: ResetRequest, rows: readonly ResetRow[]): Promise<string> {
  const expiresAtMs = rooms.clock.now() + TOKEN_MS
  const said: Signed = { groupId: request.groupId, asked: askedOf(request), expiresAtMs, rows }
  const packed = deflateRawSync(JSON.stringify(said))
  return Buffer.concat([macOf(await keyOfPreviews(rooms), packed), packed]).toString('base64url')
}

/**
 * Resolves to the rows that the preview of this request showed; null if the token belongs to another request, is not
 * genuine, or has expired.
 */
async function verify(rooms: ResetRooms, request: ResetRequest, token: string): Promise<readonly ResetRow[] | null> {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length <= MAC_BYTES) return null
  const packed = bytes.subarray(MAC_BYTES)
  if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), macOf(await keyOfPreviews(rooms), packed))) return null
  // The signature is right, so sign() wrote this content.
  const said = JSON.parse(inflateRawSync(packed, { maxOutputLength: MAX_TOKEN_BYTES }).toString()) as Signed
  const isSameRequest =
    said.groupId === request.groupId && JSON.stringify(said.asked) === JSON.stringify(askedOf(request))
  return isSameRequest && rooms.clock.now() < said.expiresAtMs ? said.rows : null
}

function askedOf({ scope, target }: ResetRequest): unknown {
  const { topics, partitions } = scope
  return { topics, partitions: partitions.map(({ topic, partition }) => [topic, partition]), target }
}

const MAC_BYTES = 32

/** Resolves to the key. Every broker of the store has the same key. */
function keyOfPreviews(rooms: ResetRooms): Promise<Uint8Array> {
  return makeSharedKey(rooms, 'previews')
}

function macOf(key: Uint8Array, packed: Uint8Array): Buffer {
  return createHmac('sha256', key).update('offset-reset').update(packed).digest()
}

// Resets of offsets over HTTP, through any broker, in two steps: the preview of the new offsets, and the reset
// itself.

import type { Random } from '../../src/base/random.ts'
import { type AdminAnswer, adminClient } from '../admin-client.ts'
import { expect, expectSame } from './difference.ts'
import type { GroupModel } from './group-model.ts'
import { anyGroup } from './group-operations.ts'
import type { LogModel } from './log-model.ts'
import { anyPlace } from './places.ts'
import { checkEnds } from './read-operations.ts'
import type { Scene } from './scene.ts'

const OK = 200
const NOT_FOUND = 404
const OUTDATED = 409
const UNAVAILABLE = 500

export async function resetOffset(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const group = anyGroup(scene, random)
  const peer = scene.running[random.below(scene.running.length)]!
  const to = ['earliest', 'latest', 'timestamp', 'clear'][random.below(4)]!
  const timestamp = Date.now() - random.below(1_000_000)
  const scope = { partitions: [{ topic: topic.name, partition }] }
  const asked = { to, scope, ...(to === 'timestamp' ? { timestamp } : {}) }
  scene.note(`${group.name}: reset ${log.name} to ${to} by broker ${peer.id}`)
  const ask = (body: object): Promise<AdminAnswer> =>
    scene.until(`a reset of ${group.name} is answered`, async () => {
      const answer = await adminClient(peer.running!.url).ask(
        'POST',
        `/api/v1/groups/${group.name}/offsets/reset`,
        body,
      )
      // The coordinator moves, or the group is under removal.
      group.age(Date.now())
      const mayPass = scene.mayMove || group.existence !== 'yes'
      return mayPass && answer.status >= UNAVAILABLE ? undefined : answer
    })

  await checkEnds(scene, place)
  const newOffset = newOffsetOf(log, to, timestamp)
  const preview = await ask({ ...asked, dryRun: true })
  group.age(Date.now())
  group.sawExistence(preview.status !== NOT_FOUND)
  if (preview.status === NOT_FOUND) return
  expectSame(`${group.name}: the status of a preview (${JSON.stringify(preview.body)})`, preview.status, OK)
  const { rows, token, blockedBy } = preview.body
  const isBlocked = group.members.length > 0
  expectSame(`${group.name}: what keeps it from a reset`, blockedBy?.code ?? null, isBlocked ? 'NON_EMPTY_GROUP' : null)
  if (rows.length > 0) expectSame(`${group.name}: where ${log.name} goes`, rows[0].newOffset, newOffset)
  expect(to === 'clear' || rows.length === 1, () => `${group.name}: a reset of one partition shows ${rows.length}`)
  if (isBlocked) return

  const applied = await ask({ ...asked, token })
  // If an answer was lost, the repeat finds another committed offset. The same happens if the offset expired
  // meanwhile.
  if (applied.status === OUTDATED && (scene.mayMove || group.hasExpiring(topic.id, partition))) {
    noteEither(group, topic.id, partition, newOffset)
    return
  }
  if (applied.status === NOT_FOUND) {
    group.sawExistence(false)
    return
  }
  expectSame(`${group.name}: the status of a reset (${JSON.stringify(applied.body)})`, applied.status, OK)
  if (newOffset === null) group.forget(topic.id, partition)
  else group.commit(topic.id, partition, committedAt(newOffset))
}

const committedAt = (offset: number) => ({ offset, leaderEpoch: -1, metadata: '', expiresAtMs: null })

function noteEither(group: GroupModel, topicId: string, partition: number, newOffset: number | null): void {
  if (newOffset !== null) group.commitWithoutAnswer(topicId, partition, committedAt(newOffset))
}

/** Returns null if the reset deletes the offset. */
function newOffsetOf(log: LogModel, to: string, timestamp: number): number | null {
  switch (to) {
    case 'earliest':
      return log.start
    case 'latest':
      return log.end
    case 'timestamp':
      return log.firstAtOrAfter(timestamp)?.offset ?? log.end
    default:
      return null
  }
}

// Reads of consumers while nothing is broken: every answer must be exactly the model's.

import type { Random } from '../../src/base/random.ts'
import { FENCED_LEADER_EPOCH, NONE, OFFSET_OUT_OF_RANGE, UNKNOWN_LEADER_EPOCH } from '../../src/protocol/errors.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { listOffsets } from '../../src/protocol/messages/list-offsets.ts'
import { offsetForLeaderEpoch } from '../../src/protocol/messages/offset-for-leader-epoch.ts'
import type { FetchedRow } from '../kafka.ts'
import { expect, expectSame } from './difference.ts'
import { checkFetched } from './fetched.ts'
import { anyPlace, type Place, placesOfOne } from './places.ts'
import { PASSING, type Scene } from './scene.ts'

/** Fetches several times from an offset on, in a random version, with few bytes or many. */
export async function fetchSome(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  const choice = random.below(12)
  const edges = [log.end, log.end + 1 + random.below(3), log.start - 1 - random.below(3), log.start]
  let offset = edges[choice] ?? log.start + random.below(Math.max(1, log.end - log.start))
  const hasZstd = log.live.some(({ sent }) => sent.isZstd)
  const version = (hasZstd ? 10 : 4) + random.below(hasZstd ? 9 : 15)
  const steps = 1 + random.below(4)
  const from = offset
  for (let step = 0; step < steps; step++) {
    const maxBytes = random.below(3) === 0 ? random.below(2_000) : random.below(800_000)
    const isPartitionLimit = random.below(2) === 0
    const partitionMaxBytes = isPartitionLimit ? Math.max(1, maxBytes) : 100_000_000
    const row = await fetchRow(scene, { topic, partition, log }, version, offset, partitionMaxBytes, maxBytes)
    const limits = { maxBytes: isPartitionLimit ? partitionMaxBytes : maxBytes, mustProgress: true }
    const at = await checkFetched(log, offset, row, limits, Date.now())
    if (at === offset) break
    offset = at
  }
  scene.note(`${log.name}: Fetch ${version} from ${from} to ${offset} of ${log.start} to ${log.end}`)
}

async function fetchRow(
  scene: Scene,
  { topic, partition, log }: Place,
  version: number,
  fetchOffset: number,
  partitionMaxBytes: number,
  maxBytes: number,
): Promise<FetchedRow> {
  const named = version >= 13 ? { topicId: topic.id } : { topic: topic.name }
  const body = {
    maxWaitMs: 0,
    minBytes: 0,
    maxBytes,
    topics: [{ ...named, partitions: [{ partition, fetchOffset, partitionMaxBytes }] }],
  }
  const row = await scene.settled(`${log.name} is read at ${fetchOffset}`, async () => {
    const answer = await scene.ask(scene.leader(topic, partition), fetch, version, body)
    const found = answer.responses[0]?.partitions[0]
    expect(found !== undefined, () => `${log.name}: Fetch ${version} has no row (error ${answer.errorCode})`)
    return found
  })
  // Retention may have dropped records since the model last read the log start.
  if (row.errorCode === OFFSET_OUT_OF_RANGE.code && fetchOffset >= log.start)
    await checkEnds(scene, { topic, partition, log })
  return row
}

/** Fetches several partitions in one request whose byte limit may be too small for all of them. */
export async function fetchMany(scene: Scene, random: Random): Promise<void> {
  const chosen = placesOfOne(scene, random, 6)
  if (chosen === null) return
  const maxBytes = random.below(2) === 0 ? random.below(50_000) : 5_000_000
  const rows = chosen.places.map(place => ({
    ...place,
    offset: place.log.start + random.below(1 + place.log.end - place.log.start),
  }))
  const topics = [...Map.groupBy(rows, each => each.topic)].map(([topic, those]) => ({
    topic: topic.name,
    partitions: those.map(({ partition, offset }) => ({
      partition,
      fetchOffset: offset,
      partitionMaxBytes: 100_000_000,
    })),
  }))
  const { responses } = await scene.ask(chosen.peer, fetch, 12, { maxWaitMs: 0, minBytes: 0, maxBytes, topics })
  scene.note(`${rows.map(({ log, offset }) => `${log.name} from ${offset}`)}, at most ${maxBytes} bytes`)
  let total = 0
  let isFirst = true
  for (const { topic, partition, log, offset } of rows) {
    const row = responses
      .find(each => each.topic === topic.name)
      ?.partitions.find(each => each.partitionIndex === partition)
    expect(row !== undefined, () => `${log.name}: Fetch of many partitions has no row for it`)
    if (scene.mayMove && PASSING.has(row.errorCode)) return scene.ready()
    if (row.errorCode === OFFSET_OUT_OF_RANGE.code) await checkEnds(scene, { topic, partition, log })
    const isAlone = rows.length === 1
    await checkFetched(
      log,
      offset,
      row,
      { maxBytes: Number.POSITIVE_INFINITY, mustProgress: isAlone || maxBytes === 5_000_000 },
      Date.now(),
    )
    total += row.records?.length ?? 0
    if ((row.records?.length ?? 0) > 0) isFirst = false
  }
  const hasAny = rows.some(({ log, offset }) => offset < log.end && offset >= log.start)
  expect(!hasAny || !isFirst, () => 'Fetch of many partitions answers nothing though there are records')
  const largest = rows.flatMap(({ log }) => log.live.map(({ sent }) => sent.bytes.length))
  const bound = Math.max(maxBytes, ...largest)
  expect(total <= bound, () => `Fetch of many partitions answers ${total} bytes, asked for ${maxBytes}`)
}

/** Reads all records of a log, from its start to its end. */
export async function readAll(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place !== null) await readLog(scene, place)
}

export async function readLog(scene: Scene, place: Place): Promise<void> {
  const { log } = place
  await checkEnds(scene, place)
  scene.note(`${log.name}: read ${log.start} to ${log.end}`)
  for (let offset = log.start; offset < log.end; ) {
    const row = await fetchRow(scene, place, 12, offset, 1_000_000, 1_000_000)
    if (row.errorCode === OFFSET_OUT_OF_RANGE.code && offset < log.start) offset = log.start
    else offset = await checkFetched(log, offset, row, { maxBytes: 1_000_000, mustProgress: true }, Date.now())
  }
}

interface Listed {
  readonly offset: number
  readonly timestamp: number
}

async function listOne(
  scene: Scene,
  { topic, partition, log }: Place,
  timestamp: number,
  version: number,
): Promise<Listed> {
  const topics = [{ name: topic.name, partitions: [{ partitionIndex: partition, timestamp }] }]
  const {
    errorCode,
    offset,
    timestamp: found,
    leaderEpoch,
  } = await scene.settled(`${log.name}: ListOffsets ${version} for ${timestamp}`, async () => {
    const answer = await scene.ask(scene.leader(topic, partition), listOffsets, version, { replicaId: -1, topics })
    return answer.topics[0]!.partitions[0]!
  })
  expectSame(`${log.name}: the error of ListOffsets ${version} for ${timestamp}`, errorCode, NONE)
  const epoch = offset >= log.start && offset < log.end && timestamp >= 0 ? log.batchAt(offset).leaderEpoch : null
  if (epoch !== null && version >= 4) expectSame(`${log.name}: the epoch of offset ${offset}`, leaderEpoch, epoch)
  return { offset, timestamp: found }
}

/** Checks the start and the end of the log. Retention may have moved the start. */
export async function checkEnds(scene: Scene, place: Place): Promise<void> {
  const { log } = place
  const latest = await listOne(scene, place, -1, 6)
  const earliest = await listOne(scene, place, -2, 6)
  expectSame(`${log.name}: where it ends`, latest.offset, log.end)
  log.sawStart(earliest.offset, Date.now())
}

export async function listEnds(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  await checkEnds(scene, place)
  scene.note(`${place.log.name}: ${place.log.start} to ${place.log.end}`)
}

/** Looks up a time, or the largest timestamp. If retention drops records meanwhile, it looks up again. */
export async function listByTime(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { log } = place
  const isLargest = random.below(4) === 0
  const some = log.live.at(-1 - random.below(Math.max(1, log.live.length)))
  const stamps = some?.sent.records.map(each => each.timestamp) ?? [Date.now()]
  const timestamp = isLargest ? -3 : Math.max(0, stamps[random.below(stamps.length)]! - 1 + random.below(3))
  const version = isLargest ? 7 + random.below(5) : 1 + random.below(11)
  for (;;) {
    const { start } = log
    const found = isLargest ? log.largestTimestamp() : log.firstAtOrAfter(timestamp)
    const listed = await listOne(scene, place, timestamp, version)
    await checkEnds(scene, place)
    if (log.start !== start) continue
    const what = `${log.name}: ListOffsets ${version} for ${timestamp} in ${log.start} to ${log.end}`
    expectSame(what, listed, { offset: found?.offset ?? -1, timestamp: found?.timestamp ?? -1 })
    scene.note(`${log.name}: ListOffsets for ${timestamp} finds ${listed.offset}`)
    return
  }
}

/** Checks the end offset of an epoch in the log, and the errors for an old and for an unknown current epoch. */
export async function askForEpochs(scene: Scene, random: Random): Promise<void> {
  const place = anyPlace(scene, random)
  if (place === null) return
  const { topic, partition, log } = place
  await readLog(scene, place)
  const known = log.live.flatMap(({ leaderEpoch }) => (leaderEpoch === null ? [] : [leaderEpoch]))
  if (known.length === 0) return
  const leaderEpoch = known[random.below(known.length)]!
  const following = log.live.find(batch => batch.leaderEpoch !== null && batch.leaderEpoch > leaderEpoch)
  const ask = (currentLeaderEpoch: number) =>
    scene.settled(`${log.name}: where epoch ${leaderEpoch} ends`, async () => {
      const topics = [{ topic: topic.name, partitions: [{ partition, leaderEpoch, currentLeaderEpoch }] }]
      const version = 2 + random.below(3)
      const answer = await scene.ask(scene.leader(topic, partition), offsetForLeaderEpoch, version, { topics })
      return answer.topics[0]!.partitions[0]!
    })
  const row = await ask(-1)
  scene.note(`${log.name}: epoch ${leaderEpoch} ends at ${row.endOffset}`)
  expectSame(`${log.name}: the error of OffsetForLeaderEpoch`, row.errorCode, NONE)
  expectSame(
    `${log.name}: where epoch ${leaderEpoch} ends`,
    [row.leaderEpoch, row.endOffset],
    [leaderEpoch, following?.baseOffset ?? log.end],
  )
  const { errorCode: fenced } = await ask(0)
  const { errorCode: unknown } = await ask(1_000_000)
  expectSame(`${log.name}: an epoch that has passed`, fenced, FENCED_LEADER_EPOCH.code)
  expectSame(`${log.name}: an epoch to come`, unknown, UNKNOWN_LEADER_EPOCH.code)
}

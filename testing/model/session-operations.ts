// A fetch session that continues while records are added and deleted (KIP-227). Each answer must have a row for every
// partition that changed, and every row must be correct.

import type { Random } from '../../src/base/random.ts'
import { NONE } from '../../src/protocol/errors.ts'
import { fetch } from '../../src/protocol/messages/fetch.ts'
import { expect, expectSame, shown } from './difference.ts'
import { checkFetched } from './fetched.ts'
import { anyPlace, type Place } from './places.ts'
import { checkEnds } from './read-operations.ts'
import { PASSING, type Scene } from './scene.ts'
import { deleteSome, produceSome } from './write-operations.ts'

interface Followed extends Place {
  offset: number
  /** The log start and end that the session returned last; null before the first row. */
  told: { readonly end: number; readonly start: number } | null
  /** True if the next request must include this partition. */
  isChanged: boolean
}

/** More bytes than all partitions have together. */
const MUCH = 50_000_000

export async function followSession(scene: Scene, random: Random): Promise<void> {
  const first = anyPlace(scene, random)
  // A session belongs to one broker. If leaders may move, the session would have to begin again.
  if (first === null || scene.plan.brokers > 1) return
  const { topic } = first
  const followed = topic.logs.map((log, partition): Followed => {
    const offset = log.start + random.below(1 + log.end - log.start)
    return { topic, partition, log, offset, told: null, isChanged: true }
  })
  let sessionId = 0
  const steps = 3 + random.below(5)
  scene.note(`${topic.name}: a session of ${followed.length} partitions, ${steps} requests`)
  for (let epoch = 0; epoch < steps; epoch++) {
    const partitions = followed
      .filter(each => each.isChanged)
      .map(({ partition, offset }) => ({ partition, fetchOffset: offset, partitionMaxBytes: MUCH }))
    const body = {
      maxWaitMs: 0,
      minBytes: 0,
      maxBytes: MUCH,
      sessionId,
      sessionEpoch: epoch,
      topics: partitions.length === 0 ? [] : [{ topic: topic.name, partitions }],
    }
    const answer = await scene.ask(scene.running[0]!, fetch, 12, body)
    expectSame(`${topic.name}: the error of request ${epoch} of a session`, answer.errorCode, NONE)
    expect(answer.sessionId > 0, () => `${topic.name}: no session is opened`)
    sessionId = answer.sessionId
    const rows = new Map(answer.responses[0]?.partitions.map(row => [row.partitionIndex, row]))
    for (const each of followed) {
      const { log, partition, offset, told } = each
      const row = rows.get(partition)
      each.isChanged = false
      if (row === undefined) {
        await checkEnds(scene, each)
        const isQuiet = offset === log.end && told?.end === log.end && told.start === log.start
        const says = `${log.name} is ${log.start} to ${log.end}, read at ${offset}, and was told ${shown(told)}`
        expect(isQuiet, () => `request ${epoch} of a session has no row: ${says}`)
        continue
      }
      if (row.errorCode !== NONE) {
        if (scene.mayMove && PASSING.has(row.errorCode)) return scene.ready()
        await checkEnds(scene, each)
      }
      const next = await checkFetched(log, offset, row, { maxBytes: MUCH, mustProgress: true }, Date.now())
      each.told = { end: row.highWatermark, start: row.logStartOffset }
      if (row.errorCode !== NONE) each.offset = log.start
      else each.offset = next
      each.isChanged = each.offset !== offset || row.errorCode !== NONE
    }
    if (random.below(2) === 0) await produceSome(scene, random)
    if (random.below(4) === 0) await deleteSome(scene, random)
  }
}

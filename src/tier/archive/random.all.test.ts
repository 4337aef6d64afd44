// Readers at random offsets, while files are added and the store fails, get what a plain log would give them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archiveWorld, PLACE, plainBatch } from '../../../testing/archive-table.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { viewBatch } from '../../protocol/records.ts'
import { ObjectStoreError } from '../objects/objects.ts'

/** Batches with gaps between them, in files that follow each other. */
function makeLog(random: ReturnType<typeof seededRandom>, fileCount: number) {
  const files: { base: number; next: number; batches: Buffer[] }[] = []
  let offset = 0
  for (let f = 0; f < fileCount; f++) {
    const base = offset
    const batches: Buffer[] = []
    for (let b = 1 + random.below(40); b > 0; b--) {
      if (random.below(4) === 0) offset += random.below(20)
      const count = 1 + random.below(12)
      batches.push(plainBatch(offset, count, random.below(3000)))
      offset += count
    }
    offset += random.below(5)
    files.push({ base, next: offset, batches })
  }
  return files
}

for (const seed of [1, 2, 3])
  test(`random readers of a growing archive get the batches of the log, seed ${seed}`, async t => {
    const random = seededRandom(seed)
    let failing = 0
    const before = async () => {
      for (let left = random.below(3); left > 0; left--) await new Promise(resolve => setImmediate(resolve))
      if (random.below(100) < failing) throw new ObjectStoreError('away', 'an injected fault')
    }
    const options = { cacheBytes: 300_000, threads: 1 + random.below(4), queueCapacity: 4 }
    const world = await archiveWorld(t, options, { before })
    const log = makeLog(random, 14)
    let archived = 0
    const addOne = async () => {
      const file = log[archived]!
      await world.add(file.batches, { rowGroupBytes: [5e3, 40e3, 1e9][random.below(3)]! }, file)
      archived++
      world.archive.refresh(PLACE.topicId)
    }
    await addOne()
    failing = 5
    let counts = { read: 0, nothing: 0, busy: 0, away: 0, damaged: 0 }
    const reader = async (reads: number) => {
      let offset = 0
      for (let i = 0; i < reads; i++) {
        const end = log[archived - 1]!.next
        if (random.below(6) === 0 || offset >= end) offset = random.below(end)
        const maxBytes = random.below(60_000)
        const until = random.below(3) === 0 ? random.below(end + 1) : end
        const minOne = random.below(5) > 0
        // The log as it was before the read: what is below `until` does not change.
        const all = log.slice(0, archived).flatMap(({ batches }) => batches)
        const answer = await world.archive.read(PLACE, offset, maxBytes, minOne, until)
        counts = { ...counts, [answer.kind]: counts[answer.kind] + 1 }
        const rest = all.filter(bytes => viewBatch(bytes).lastOffset >= offset && viewBatch(bytes).lastOffset < until)
        if (answer.kind === 'nothing') assert.equal(rest.length, 0, `offset ${offset} until ${until}`)
        if (answer.kind !== 'read') continue
        const given = answer.batches
        assert.ok(given.length > 0 || (!minOne && rest[0]!.length > maxBytes), `offset ${offset} until ${until}`)
        assert.ok(answer.bytes <= maxBytes || (given.length === 1 && minOne))
        for (const [j, bytes] of given.entries()) assert.ok(rest[j]!.equals(bytes), `batch ${j} from ${offset}`)
        if (given.length > 0) offset = viewBatch(given.at(-1)!).lastOffset + 1
      }
    }
    const writer = async () => {
      while (archived < log.length) {
        await addOne()
        for (let left = 40; left > 0; left--) await new Promise(resolve => setImmediate(resolve))
      }
    }
    await Promise.all([...Array.from({ length: 6 }, () => reader(80)), writer()])
    t.diagnostic(JSON.stringify(counts))
    assert.ok(counts.read > 100 && counts.damaged === 0)
    // In the end all is there.
    failing = 0
    let offset = 0
    const all: Uint8Array[] = []
    const end = log.at(-1)!.next
    for (const endsAtMs = systemClock.monotonic() + 20_000; offset < end; ) {
      assert.ok(systemClock.monotonic() < endsAtMs, 'the readers end')
      const answer = await world.archive.read(PLACE, offset, 50_000, true, end)
      if (answer.kind === 'nothing') break
      assert.ok(answer.kind === 'read')
      all.push(...answer.batches)
      offset = viewBatch(answer.batches.at(-1)!).lastOffset + 1
    }
    assert.ok(Buffer.concat(all).equals(Buffer.concat(log.flatMap(({ batches }) => batches))))
  })

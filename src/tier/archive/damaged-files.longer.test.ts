// Anybody can damage a file of the archive. A reader gets it or an error of the file, and nothing else happens.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { archiveWorld, PLACE, plainBatch, plainBatches } from '../../../testing/archive-table.ts'
import { damageCases } from '../../../testing/damaged-files.ts'
import { mutate } from '../../../testing/mutation.ts'
import { seed } from '../../../testing/seed.ts'
import { systemClock } from '../../base/clock.ts'
import { ENDLESS } from '../../base/patience.ts'
import { seededRandom } from '../../base/random.ts'
import { viewBatch } from '../../protocol/records.ts'
import { DecoderThreads } from '../columns/decoder-thread.ts'
import { readAvro, writeAvro } from '../iceberg/avro.ts'
import { ObjectStoreError } from '../objects/objects.ts'

/** `npm test -- --all` makes more. */
const RUNS = 200

const decoders = new DecoderThreads(systemClock, 1, 2_000)
after(() => decoders.close())

for (const { name, run, cost = 1 } of await damageCases(decoders))
  test(`damage to ${name} is read or refused, and nothing else happens`, async t => {
    const random = seededRandom(seed)
    const runs = RUNS / cost
    let refused = 0
    for (let i = 0; i < runs; i++) if (!(await run(random))) refused++
    t.diagnostic(`${refused} of ${runs} refused`)
    assert.ok(refused > runs / 5, `${refused} of ${runs}`)
  })

test('a reader, a search and a notice of a damaged table end as damage', async t => {
  const random = seededRandom(seed)
  const kinds = new Set<string>()
  for (let i = 0; i < 25; i++) {
    const world = await archiveWorld(t, { threads: 2 })
    await world.add([plainBatch(0, 10), plainBatch(10, 5)])
    const keys = [...world.memory.held.keys()].filter(key => !key.endsWith('hint.text'))
    const key = keys[random.below(keys.length)]!
    await world.memory.replace(key, mutate((await world.memory.read(key))!, random))
    world.archive.refresh(PLACE.topicId)
    const answers = [
      await world.read(0),
      await world.archive.firstSince(PLACE, 1_700_000_000_003, 0, 15, ENDLESS),
      await world.archive.largest(PLACE, 0, 15, ENDLESS),
    ]
    world.archive.refresh(PLACE.topicId)
    for (const answer of answers) if (answer !== null && 'kind' in answer) kinds.add(answer.kind)
    await world.archive.close()
  }
  assert.deepEqual([...kinds].sort(), ['damaged', 'read'])
})

test('a file that the store refuses to read is damage, and one that is away is not', async t => {
  for (const [kind, expected] of [
    ['refused', 'damaged'],
    ['away', 'away'],
  ] as const) {
    const before = (key: string) => {
      if (key.endsWith('.parquet')) throw new ObjectStoreError(kind, 'cannot use it: symbolic links are not followed')
    }
    const world = await archiveWorld(t, {}, { before })
    await world.add([plainBatch(0, 10)])
    const why = 'cannot use it: symbolic links are not followed'
    assert.deepEqual(await world.read(0), { kind: expected, why })
  }
})

test('a path in a manifest that leaves the place is damage', async t => {
  const world = await archiveWorld(t)
  const { key } = await world.add([plainBatch(0, 10)])
  const held = [...world.memory.held.keys()].find(each => /-m\d+\.avro$/.test(each))!
  const { schema, header, records } = await readAvro((await world.memory.read(held))!, 'a manifest')
  const [entry] = records as { data_file: { file_path: string } }[]
  entry!.data_file.file_path = `${world.memory.uri}/../${key}`
  const { 'avro.schema': _, 'avro.codec': __, ...others } = Object.fromEntries(header)
  await world.memory.replace(held, writeAvro(schema, others, records, Buffer.alloc(16)))
  const answer = await world.read(0)
  assert.ok(answer.kind === 'damaged' && /cannot be the key of an object/.test(answer.why), JSON.stringify(answer))
})

test('a cache of 0 bytes keeps nothing, and readers get all the same', async t => {
  const world = await archiveWorld(t, { cacheBytes: 0 })
  const batches = plainBatches(0, 60)
  await world.add(batches, { rowGroupBytes: 100_000 })
  let offset = 0
  for (let reads = 0; offset < 600; reads++) {
    assert.ok(reads < 600)
    const answer = await world.read(offset, 300_000)
    assert.ok(answer.kind === 'read')
    offset = viewBatch(answer.batches.at(-1)!).lastOffset + 1
    assert.equal(world.archive.bytes, 0)
  }
})

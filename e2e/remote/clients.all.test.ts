// Consumers of three client libraries read a topic of the remote tier: from its beginning, as groups, and from every
// boundary of segments and files. Some of the records are cold, some are local. A run seeks each boundary, or the
// offset before or behind it, as the seed draws; KETCH_LONG=1 seeks all three.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRecords } from '../../src/protocol/records.ts'
import { readDataFileName } from '../../src/tier/iceberg/table-files.ts'
import { adminClient } from '../../testing/admin-client.ts'
import { drawnBy } from '../../testing/at-length.ts'
import type { TestBroker } from '../../testing/broker.ts'
import { noRedis } from '../../testing/redis.ts'
import { seed } from '../../testing/seed.ts'
import { createTopic } from '../../testing/topic.ts'
import type { Wire } from '../../testing/wire.ts'
import { type Client, CODECS, makeRecords } from '../client.ts'
import { fetchJars } from '../java/jars.ts'
import { javaClients } from '../java/records.ts'
import { kafkaJs } from '../kafkajs/client.ts'
import { confluentPython } from '../python/client.ts'
import { expectedLine, type Line, startSeekers } from './seekers.ts'
import {
  allCold,
  alterTopic,
  COLD,
  inReverse,
  offsetOf,
  PLACES,
  readBatches,
  SEALED_AT_ONCE,
  STORES,
  startTiered,
  TIME,
} from './tiered.ts'

const TOPIC = 'orders'
const PARTITIONS = 2
const PRODUCERS: readonly Client[] = [javaClients.at(-1)!, confluentPython, kafkaJs]
const skip = fetchJars() ?? PRODUCERS.map(client => client.absence()).find(absence => absence !== null) ?? false

async function produceWith(producers: readonly Client[], port: number, count: number, from: number): Promise<void> {
  for (const [i, producer] of producers.entries()) {
    const records = makeRecords({ count, partitions: PARTITIONS, codecs: CODECS, seed: seed + from + i })
    await producer.produce(`127.0.0.1:${port}`, TOPIC, records)
  }
}

/** Returns the lines of all records by partition. */
async function expectedLines(wire: Wire): Promise<Line[][]> {
  const all: Line[][] = []
  for (let index = 0; index < PARTITIONS; index++) {
    const lines: Line[] = []
    for (const { bytes } of await readBatches(wire, TOPIC, index))
      for (const record of await readRecords(bytes)) lines.push(expectedLine(index, record))
    all.push(lines)
  }
  return all
}

/** Returns the offsets at which segments begin, as the admin API lists them. */
async function segmentStarts({ url }: TestBroker, index: number): Promise<number[]> {
  const { ask } = adminClient(url)
  const path = `/api/v1/topics/${TOPIC}/partitions/${index}/segments?limit=500`
  const { status, body } = await ask('GET', path)
  assert.equal(status, 200, JSON.stringify(body))
  return body.segments.map((segment: { base: number }) => segment.base)
}

/** Returns the offsets at which the data files of a partition begin, and those behind them. */
function fileBounds(keys: readonly string[], index: number): number[] {
  return keys
    .filter(key => key.includes(`/partition=${index}/`))
    .map(readDataFileName)
    .flatMap(name => (name === null ? [] : [name.base, name.next]))
}

for (const [store, place] of [
  ['embedded', 'bucket'],
  ['Redis', 'folder'],
] as const)
  test(`clients read from the beginning and from every boundary, on ${store} with a ${place}`, {
    skip: skip !== false ? skip : store === 'Redis' && noRedis,
    timeout: 900_000,
  }, async t => {
    const cleanUp = inReverse(t)
    const { values, keys } = await PLACES[place](cleanUp)
    const broker = await startTiered(cleanUp, { ...(await STORES[store](cleanUp)), ...values }, { hasHttp: true })
    const wire = await broker.connect()
    await createTopic(broker, TOPIC, PARTITIONS, SEALED_AT_ONCE)
    const starts: Set<number>[] = Array.from({ length: PARTITIONS }, () => new Set())
    const noteSegments = async () => {
      for (const [index, each] of starts.entries())
        for (const base of await segmentStarts(broker, index)) each.add(base)
    }
    // Each producer has sealed segments of its own behind it before the table begins.
    for (const producer of PRODUCERS) {
      await produceWith([producer], broker.port, 600, starts[0]!.size)
      await noteSegments()
    }
    await alterTopic(wire, TOPIC, COLD)
    await allCold(wire, TOPIC, PARTITIONS)
    // From here on the local store keeps everything, so that the last records are local.
    await alterTopic(wire, TOPIC, { 'local.retention.ms': '-2', 'local.retention.bytes': '-2' })
    await produceWith(PRODUCERS, broker.port, 200, 100)
    await noteSegments()
    const expected = await expectedLines(wire)
    const seekers = startSeekers(cleanUp, `127.0.0.1:${broker.port}`, TOPIC)
    const total = expected.flat().length
    const half = Math.floor(total / 2)
    for (const { name, read } of seekers) {
      const group = `readers-${name}`
      const lines = [...(await read(group, half)), ...(await read(group, total - half))]
      for (const [index, each] of expected.entries()) {
        const own = lines.filter(line => line.startsWith(`${index} `))
        assert.deepEqual(own, each, `${name} read ${TOPIC}-${index} from the beginning`)
      }
    }
    const paths = await keys()
    let seeks = 0
    for (const [index, lines] of expected.entries()) {
      const localStart = await offsetOf(wire, TOPIC, index, TIME.earliestLocal)
      assert.ok(localStart > 0 && localStart < lines.length, `${TOPIC}-${index} is local from ${localStart} on`)
      const bounds = [0, localStart, lines.length, ...starts[index]!, ...fileBounds(paths, index)]
      const offsets = new Set(bounds.flatMap((bound, at) => drawnBy(at + seed, 3, [bound - 1, bound, bound + 1])))
      for (const offset of [...offsets].filter(each => each >= 0 && each < lines.length).sort((a, b) => a - b)) {
        seeks++
        for (const { name, seek } of seekers)
          assert.equal(await seek(index, offset), lines[offset], `${name} sought ${TOPIC}-${index} ${offset}`)
      }
    }
    t.diagnostic(`${total} records, ${seeks} offsets sought by each client`)
  })

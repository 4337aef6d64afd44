// A dump that a version with format 2 left behind: several leads, trims, rows, documents and a raised end.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { CleanUp } from '../../../testing/broker.ts'
import { noRedis as skip, startRedis } from '../../../testing/redis.ts'
import { auditRedis } from '../../../testing/redis-audit.ts'
import { openTestStore } from '../../../testing/redis-store.ts'
import { exampleAppend, exampleBatch, expectKind } from '../examples.ts'
import type { EpochStart } from '../store.ts'

interface Fixture {
  /** The dump, in base64. */
  readonly rdb: string
  readonly expected: {
    readonly streams: readonly {
      readonly name: string
      readonly start: number
      readonly end: number
      readonly bytes: number
      readonly epochs: readonly EpochStart[]
      readonly rows: Readonly<Record<string, string>>
      readonly lastAttempt: string
      readonly batches: readonly (readonly [baseOffset: number, nextOffset: number, base64: string])[]
    }[]
    readonly documents: readonly {
      readonly kind: string
      readonly name: string
      readonly version: number
      readonly fields: Readonly<Record<string, string>>
    }[]
  }
}

const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

const asText = (map: ReadonlyMap<string, Uint8Array>) =>
  Object.fromEntries([...map].map(([key, value]) => [key, Buffer.from(value).toString()]))

test('a dump of format 2 is read as it was, its format rises, and it takes rewrites', { skip }, async t => {
  const packed = readFileSync(new URL('./fixtures/format-2.json.gz', import.meta.url))
  const { rdb, expected } = JSON.parse(gunzipSync(packed).toString()) as Fixture
  const redis = await startRedis(t as CleanUp)
  await redis.stop()
  await writeFile(join(redis.folder, 'dump.rdb'), Buffer.from(rdb, 'base64'))
  await redis.start()
  await redis.loaded()
  assert.equal(await redis.ask('GET', 'svc:format'), '2')
  const { store, reports } = await openTestStore(t as CleanUp, { 'redis.uri': redis.uri })
  assert.equal(await redis.ask('GET', 'svc:format'), '3')
  assert.deepEqual((await store.streams()).toSorted(), expected.streams.map(({ name }) => name).toSorted())

  const read = async (name: string, from: number) => {
    const { batches } = expectKind(await store.read(name, from, EVERYTHING), 'read')
    return batches.map(({ baseOffset, nextOffset, bytes }) => [
      baseOffset,
      nextOffset,
      Buffer.from(bytes).toString('base64'),
    ])
  }
  for (const { name, start, end, bytes, epochs, rows, lastAttempt, batches } of expected.streams) {
    // A reader that does not lead.
    assert.deepEqual(await read(name, start), batches)
    const opened = expectKind(await store.open(name, 0, 0), 'opened')
    assert.deepEqual(
      [opened.start, opened.end, opened.bytes, opened.lastAttempt, opened.damage],
      [start, end, bytes, lastAttempt, null],
    )
    // The newest epoch owned no offset, and ends with the opening.
    const owners = epochs.filter(({ startOffset }) => startOffset < end)
    assert.deepEqual(opened.epochs.slice(0, -1), owners)
    assert.deepEqual([asText(opened.rows), opened.pass], [rows, { to: 0, until: 0 }])

    const [first, second] = batches as [(typeof batches)[0], (typeof batches)[0]]
    const small = exampleBatch(first[0], first[1] - first[0], 70)
    const piece = { stream: name, epoch: opened.epoch, from: start, to: second[1], batches: [small], rows: [] }
    const outcome = expectKind(await store.rewrite(piece), 'rewritten')
    const sizeOf = ([, , base64]: (typeof batches)[0]) => Buffer.from(base64, 'base64').length
    assert.equal(outcome.bytes, bytes - sizeOf(first) - sizeOf(second) + 70)
    const left = [[first[0], first[1], Buffer.from(small.bytes).toString('base64')], ...batches.slice(2)]
    assert.deepEqual(await read(name, start), left)
    expectKind(await store.append(exampleAppend(name, opened.epoch, end)), 'appended')
    assert.equal((await read(name, start)).length, left.length + 1)
    const again = expectKind(await store.open(name, 0, 0), 'opened')
    assert.deepEqual([again.bytes, again.pass.to], [outcome.bytes + 100, second[1]])
  }
  for (const { kind, name, version, fields } of expected.documents) {
    const document = await store.load(kind, name)
    assert.deepEqual([document?.version, asText(document!.fields)], [version, fields])
  }
  assert.equal(await store.load('group', 'dropped'), null)
  assert.deepEqual(reports, [])
  assert.deepEqual((await auditRedis([redis])).problems, [])
})

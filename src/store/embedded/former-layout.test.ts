// A folder that a version with layout 1 left behind when it was killed: with moved batches, a checkpoint, and a journal
// to replay.

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { newFolder } from '../../../testing/store-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { exampleBatch, expectKind } from '../examples.ts'
import type { Store } from '../store.ts'
import { openEmbeddedStore } from './embedded-store.ts'

interface Fixture {
  /** The files of the folder, in base64. */
  readonly files: Readonly<Record<string, string>>
  readonly expected: {
    readonly streams: readonly {
      readonly name: string
      readonly start: number
      readonly end: number
      readonly batches: readonly (readonly [baseOffset: number, nextOffset: number, base64: string])[]
    }[]
    readonly group: { readonly version: number; readonly a: string }
  }
}

const EVERYTHING = { maxBytes: Number.MAX_SAFE_INTEGER, until: Number.MAX_SAFE_INTEGER }

test('a folder of layout 1 is read as it was, and takes rewrites', async t => {
  const packed = readFileSync(new URL('./fixtures/layout-1.json.gz', import.meta.url))
  const { files, expected } = JSON.parse(gunzipSync(packed).toString()) as Fixture
  const path = newFolder(t)
  for (const [name, base64] of Object.entries(files))
    if (name !== 'lock-holder') writeFileSync(join(path, name), Buffer.from(base64, 'base64'))
  const reports: string[] = []
  const open = () =>
    openEmbeddedStore({
      path,
      fsync: 'always',
      fsyncIntervalMs: 3,
      clock: systemClock,
      report: message => reports.push(message),
    })
  async function check(store: Store, rewritten: boolean): Promise<void> {
    for (const { name, start, end, batches } of expected.streams) {
      const opened = expectKind(await store.open(name, 0, 0), 'opened')
      const read = expectKind(await store.read(name, start, EVERYTHING), 'read')
      const found = read.batches.map(({ baseOffset, nextOffset, bytes }) => [
        baseOffset,
        nextOffset,
        Buffer.from(bytes).toString('base64'),
      ])
      assert.deepEqual([opened.start, opened.end, opened.damage], [start, end, null])
      assert.deepEqual(found, rewritten ? found.slice(0, 1).concat(batches.slice(2) as never) : batches)
      assert.equal(
        opened.bytes,
        read.batches.reduce((sum, { bytes }) => sum + bytes.length, 0),
      )
    }
    const group = await store.load('group', 'g')
    assert.deepEqual(
      [group?.version, Buffer.from(group!.fields.get('a')!).toString()],
      [expected.group.version, expected.group.a],
    )
    assert.equal(await store.load('group', 'dropped'), null)
  }

  const store = await open()
  await check(store, false)
  assert.match(readFileSync(join(path, 'format'), 'utf8'), /"layout":2/)
  for (const { name, start, batches } of expected.streams) {
    const { epoch } = expectKind(await store.open(name, 0, 0), 'opened')
    const first = exampleBatch(batches[0]![0], batches[0]![1] - batches[0]![0], 120)
    const asked = { stream: name, epoch, from: start, to: batches[1]![1], batches: [first], rows: [] }
    expectKind(await store.rewrite(asked), 'rewritten')
  }
  await check(store, true)
  await store.close()
  const again = await open()
  await check(again, true)
  await again.close()
  assert.deepEqual(reports, [])
})

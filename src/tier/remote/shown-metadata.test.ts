import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownMetadata } from './shown-metadata.ts'

const BIG = '7397555330850519247'

test('metadata with a snapshot is shown as it is stored, to the byte', () => {
  const text = `{"format-version": 2, "x": 1.0, "current-snapshot-id":${BIG},"snapshots":[{"snapshot-id":${BIG}}]}`
  assert.equal(shownMetadata(text, 'all'), text)
})

test('a table without a snapshot says -1, whether its metadata says null or nothing', () => {
  assert.equal(
    shownMetadata('{"x":1.0,"current-snapshot-id": null,"snapshots":[]}', 'all'),
    '{"x":1.0,"current-snapshot-id":-1,"snapshots":[]}',
  )
  for (const text of ['{"current-snapshot-id":null}', '{}', '{"snapshots":null,"refs":null}'])
    assert.deepEqual(JSON.parse(shownMetadata(text, 'refs'))['current-snapshot-id'], -1)
})

test('on demand only the snapshots of refs and the current one are shown, with all digits of their ids', () => {
  const snapshots = [1, BIG, 3, 4].map(id => `{"snapshot-id":${id},"parent-snapshot-id":${BIG}}`)
  const refs = `{"main":{"snapshot-id":4,"type":"branch"},"tag":{"snapshot-id":${BIG},"type":"tag"}}`
  const text = `{"current-snapshot-id":4,"snapshots":[${snapshots}],"refs":${refs},"snapshot-log":[{"snapshot-id":1}]}`
  const kept = `[${[snapshots[1], snapshots[3]]}]`
  assert.equal(shownMetadata(text, 'refs'), text.replace(`[${snapshots}]`, kept))
})

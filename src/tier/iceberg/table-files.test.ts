import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom, uuidText } from '../../base/random.ts'
import type { Objects } from '../objects/objects.ts'
import { dataFileKey, keyOf, readDataFileName, tableLocation, versionOfKey } from './table-files.ts'

const at = (uri: string) => ({ uri }) as Objects

test('the name of a data file has its offsets, its Kafka bytes and its day', () => {
  const uuid = uuidText(seededRandom(1))
  const name = { partition: 4, ingestedAt: Date.UTC(2026, 10, 20, 23, 59), base: 7, next: 1_000, kafkaBytes: 123_456 }
  const key = dataFileKey('ns/orders-id', name, uuid)
  const offsets = '00000000000000000007-00000000000000000999'
  assert.equal(key, `ns/orders-id/data/partition=4/ingested_at_day=2026-11-20/${offsets}-123456-${uuid}.parquet`)
  assert.deepEqual(readDataFileName(`s3://bucket/${key}`), { base: 7, next: 1_000, kafkaBytes: 123_456 })
  assert.equal(readDataFileName('s3://bucket/data/data-1.parquet'), null)
  assert.throws(() => dataFileKey('ns/orders-id', { ...name, base: 1_000 }, uuid), /takes no -1/)
})

test('a location has the topic id, and refuses names that are no folders', () => {
  assert.equal(tableLocation('default', 'a.b_c-d', 'AAAAAAAAAAAAAAAAAAAAAQ'), 'default/a.b_c-d-AAAAAAAAAAAAAAAAAAAAAQ')
  const id = 'AAAAAAAAAAAAAAAAAAAAAQ'
  for (const topic of ['-x', '.hidden', '.ketch-x', '...'])
    assert.equal(tableLocation('default', topic, id), `default/_${topic}-${id}`)
  const long = tableLocation('default', 'A'.repeat(249), id)
  assert.ok(long.length < 240 && long.endsWith(`A-${id}`), long)
  for (const [namespace, topic] of [
    ['..', 'a'],
    ['a/b', 'a'],
    ['', 'a'],
    ['a', 'b/../x'],
    ['a', 'x%20'],
  ] as const)
    assert.throws(() => tableLocation(namespace, topic, 'id'), /cannot name a table/)
})

test('a path is the same object in all forms that engines give it, and no object outside of the place', () => {
  for (const uri of ['file:///data/tier/a/b', 'file:/data/tier/a/b', '/data/tier/a/b'])
    assert.equal(keyOf(at('file:///data/tier'), uri), 'a/b')
  for (const uri of ['s3://b/p/a', 's3a://b/p/a', 's3n://b/p/a']) assert.equal(keyOf(at('s3://b/p'), uri), 'a')
  for (const uri of ['s3://b/pp/a', 's3://c/p/a', 'https://b/p/a']) assert.equal(keyOf(at('s3://b/p'), uri), null)
})

test('only plain versions of the metadata count as versions', () => {
  assert.equal(versionOfKey('ns/t', 'ns/t/metadata/v12.metadata.json'), 12)
  for (const name of ['v0.metadata.json', 'v01.metadata.json', 'v1.gz.metadata.json', '00001-x.metadata.json', 'x/v1'])
    assert.equal(versionOfKey('ns/t', `ns/t/metadata/${name}`), null)
  assert.equal(versionOfKey('ns/t', 'ns/t2/metadata/v12.metadata.json'), null)
})

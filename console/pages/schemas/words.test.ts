import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCHEMA_LEVELS, SCHEMA_MODES } from '../../../src/api/words.ts'
import {
  comparedWith,
  effectOf,
  LEVEL_SENTENCES,
  levelOf,
  MODE_SENTENCES,
  modeOf,
  refusedOf,
  sentenceOf,
  typeOf,
} from './words.ts'

test('every level and every mode has a sentence', () => {
  for (const level of SCHEMA_LEVELS) assert.match(LEVEL_SENTENCES[level], /\.$/)
  for (const mode of SCHEMA_MODES) assert.match(MODE_SENTENCES[mode], /\.$/)
})

test('a word that is no level, mode or type becomes the usual one', () => {
  assert.deepEqual([levelOf('FULL'), levelOf('full')], ['FULL', 'BACKWARD'])
  assert.deepEqual([modeOf('IMPORT'), modeOf('')], ['IMPORT', 'READWRITE'])
  assert.deepEqual([typeOf('JSON'), typeOf('XML')], ['JSON', 'AVRO'])
})

test('the compared versions are named, and long lists are cut', () => {
  assert.equal(comparedWith([], 'FULL'), 'There is no version to compare it with.')
  assert.equal(comparedWith([3], 'NONE'), 'The level NONE compares it with no other version.')
  assert.equal(comparedWith([3], 'BACKWARD'), 'The level BACKWARD compared it with version 3.')
  const many = Array.from({ length: 12 }, (_, at) => 12 - at)
  assert.match(comparedWith(many, 'FULL_TRANSITIVE'), /versions 12, 11, .*, 3 and 2 more\.$/)
})

test('the effect of a deletion says whether records can still be read', () => {
  assert.match(
    effectOf({ permanent: false, versions: [1] }),
    /^This deletes 1 version: clients no longer find it in lists\. Records that name its id can/,
  )
  assert.match(
    effectOf({ permanent: true, versions: [1, 2] }),
    /^This removes 2 versions for good\. Records that name their ids can still be read/,
  )
})

test('a reason is shown as a sentence', () => {
  assert.equal(sentenceOf('the field "a" has no default'), 'The field "a" has no default.')
  assert.equal(sentenceOf('Done.'), 'Done.')
})

test('the refused records of all parts are added', () => {
  assert.equal(refusedOf([{ refused: 2 }, { refused: 5 }]), 7)
  assert.equal(refusedOf([]), 0)
})

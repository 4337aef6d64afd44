import assert from 'node:assert/strict'
import { test } from 'node:test'
import { because, KAFKA_STORAGE_ERROR } from '../protocol/errors.ts'
import { fromRefusal } from './problems.ts'

test('a storage error is 503, because it may pass, and 500 if the data is damaged', () => {
  const away = because(KAFKA_STORAGE_ERROR, 'The remote tier does not answer.')
  assert.equal(fromRefusal(away).status, 503)
  const damaged = fromRefusal({ ...away, isDamage: true })
  assert.deepEqual([damaged.status, damaged.code], [500, 'KAFKA_STORAGE_ERROR'])
})

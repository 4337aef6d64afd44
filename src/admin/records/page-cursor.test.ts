import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { decodeCursor, encodeCursor, UNSOUGHT } from './page-cursor.ts'

const topicId = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(bytes => Buffer.from(bytes).toString('base64url'))
const order = fc.constantFrom('oldest' as const, 'newest' as const)
const position = fc.oneof(fc.nat({ max: 100 }), fc.maxSafeNat(), fc.constantFrom(null, UNSOUGHT))
const ofAll = fc.record(
  {
    topicId,
    order,
    partition: fc.constant(null),
    positions: fc.array(position, { minLength: 1, maxLength: 200 }),
  },
  { noNullPrototype: true },
)
const ofOne = fc.record(
  { topicId, order, partition: fc.nat({ max: 1000 }), positions: fc.tuple(position) },
  { noNullPrototype: true },
)

test('a cursor decodes to its values, and a cut cursor does not decode', () => {
  fc.assert(
    fc.property(fc.oneof(ofAll, ofOne), fc.nat({ max: 1_000 }), (cursor, cut) => {
      const text = encodeCursor(cursor)
      assert.deepEqual(decodeCursor(text), cursor)
      assert.equal(decodeCursor(text.slice(0, cut % text.length)), null)
    }),
  )
})

test('any text decodes to a cursor or to null', () => {
  fc.assert(
    fc.property(fc.string(), text => {
      decodeCursor(text)
      decodeCursor(Buffer.from(`1.${text}`).toString('base64url'))
    }),
  )
})

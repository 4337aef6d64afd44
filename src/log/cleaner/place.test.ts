import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodePlace, NOT_CLEANED, type Place, placeOf } from './place.ts'

const PASS = { to: 30, until: 30 }

function read(place: Place, pass = PASS) {
  const { key, value } = encodePlace(place)
  return placeOf({ rows: new Map([[key, value!]]), end: 50, pass })
}

test('a place within the log is read as it was written', () => {
  for (const place of [
    NOT_CLEANED,
    { cleanedTo: 30, passFrom: 30, passTo: -1 },
    { cleanedTo: 0, passFrom: 0, passTo: 50 },
  ])
    assert.deepEqual(read(place), { place, why: null })
  assert.deepEqual(placeOf({ rows: new Map(), end: 0, pass: { to: 0, until: 0 } }), { place: NOT_CLEANED, why: null })
})

test('from a place that cannot be read the cleaner begins anew, but first finishes the pass of the store', () => {
  const good = { cleanedTo: 30, passFrom: 30, passTo: -1 }
  for (const wrong of [Number.NaN, 1e300, Number.POSITIVE_INFINITY, -2, 0.5, 51]) {
    for (const name of ['cleanedTo', 'passFrom', 'passTo'] as const) {
      const { place, why } = read({ ...good, [name]: wrong })
      assert.deepEqual(place, NOT_CLEANED, `${name} ${wrong}`)
      assert.match(why!, /^it is .* and the log ends at 50$/)
    }
  }
  assert.deepEqual(read({ ...good, passTo: 99 }, { to: 10, until: 40 }).place, { ...NOT_CLEANED, passTo: 40 })
  const { place, why } = placeOf({ rows: new Map([['c', Buffer.from('rubbish')]]), end: 50, pass: PASS })
  assert.deepEqual([place, why], [NOT_CLEANED, 'it has format 114 and 7 bytes, expected format 1 and 25 bytes'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { readInt64, writeInt64 } from './int64.ts'

test('an int64 is read as the nearest number, and an integer is written as an int64', () => {
  const property = fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), value => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(value)
    assert.equal(readInt64(bytes, 0), Number(value))
    writeInt64(bytes, 0, Number(value))
    const nearest = BigInt(Number(value))
    assert.equal(bytes.readBigInt64BE(), nearest === 2n ** 63n ? nearest - 1n : nearest)
  })
  fc.assert(property, { examples: [-1n, 0n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, -(2n ** 32n) - 1n].map(n => [n]) })
})

test('writing a number that is no int64 fails an assertion', () => {
  for (const wrong of [0.5, Number.NaN, 2 ** 64, -(2 ** 63) * 1.5])
    assert.throws(() => writeInt64(Buffer.alloc(8), 0, wrong), /an int64 must be an integer/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DerReader, der, derInteger, INTEGER, integerOf, OCTET_STRING, SEQUENCE } from './der.ts'

test('elements of every length are read as they were written', () => {
  for (const length of [0, 1, 127, 128, 255, 256, 65_535, 65_536, 200_000]) {
    const content = Buffer.alloc(length, 7)
    const reader = new DerReader(der(OCTET_STRING, content))
    assert.deepEqual(reader.take(OCTET_STRING), content)
    assert(reader.isAtEnd)
  }
})

test('numbers take the fewest bytes, and come back', () => {
  const encoded: readonly (readonly [number, string])[] = [
    [0, '020100'],
    [127, '02017f'],
    [128, '02020080'],
    [32_771, '0203008003'],
    [0x8000_0000, '02050080000000'],
    [0xffff_ffff, '020500ffffffff'],
  ]
  for (const [value, hex] of encoded) {
    assert.equal(derInteger(value).toString('hex'), hex)
    assert.equal(integerOf(new DerReader(derInteger(value)).take(INTEGER)), value)
  }
  assert.equal(integerOf(Buffer.from('ff', 'hex')), -1)
})

test('an element that is cut off, too long, indefinite or of another tag is refused', () => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['', /tag 0x30 is expected, and its end was found/],
    ['0400', /tag 0x30 is expected, and 0x04 was found/],
    ['30', /it ends inside/],
    ['3082', /it ends inside/],
    ['3005000000', /longer than the bytes around it/],
    ['3080', /indefinite or too large/],
    ['3084ffffffff', /indefinite or too large/],
    ['3083ffffff00', /longer than the bytes around it/],
  ]
  for (const [hex, why] of refused) assert.throws(() => new DerReader(Buffer.from(hex, 'hex')).take(SEQUENCE), why, hex)
  assert.throws(() => integerOf(Buffer.alloc(0)), /a number has 0 bytes/)
  assert.throws(() => integerOf(Buffer.alloc(6)), /a number has 6 bytes/)
})

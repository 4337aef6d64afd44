import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { type Read, readDuration, readSize } from './read-units.ts'
import { showDuration, showSize } from './units.ts'

function integerOf(read: Read): string {
  if ('error' in read) throw new Error(read.error)
  return read.value
}

function errorOf(read: Read): string {
  assert.ok('error' in read)
  return read.error
}

test('durations are read with a unit, or as milliseconds', () => {
  for (const [text, value] of [
    ['7d', '604800000'],
    [' 36 h ', '129600000'],
    ['1.5h', '5400000'],
    ['0.001 s', '1'],
    ['90 minutes', '5400000'],
    ['1 Day', '86400000'],
    ['604,800,000', '604800000'],
    ['604_800_000', '604800000'],
    ['007', '7'],
    ['0', '0'],
    ['-1', '-1'],
    ['No limit', '-1'],
    ['-2', '-2'],
    ['9223372036854775807', '9223372036854775807'],
    ['106751991167 d', '9223372036828800000'],
  ] as const)
    assert.equal(integerOf(readDuration(text)), value, text)
})

test('sizes are read in powers of 1024, and of 1000 if the unit says so', () => {
  for (const [text, value] of [
    ['1.5 GiB', '1610612736'],
    ['1gib', '1073741824'],
    ['1 GB', '1000000000'],
    ['10 kB', '10000'],
    ['512', '512'],
    ['8 PiB', '9007199254740992'],
    ['no limit', '-1'],
  ] as const)
    assert.equal(integerOf(readSize(text)), value, text)
})

test('a text that is not understood gets a sentence about it', () => {
  assert.equal(errorOf(readDuration(' ')), 'Expected a value such as 7 d, 36 h or 500 ms.')
  assert.equal(errorOf(readDuration('soon')), '"soon" is not understood. Expected 7 d, 36 h or 500 ms.')
  assert.equal(errorOf(readDuration('3 w')), '"w" is not a unit here. The units are d, h, min, s, ms.')
  assert.equal(errorOf(readDuration('1.5 ms')), '1.5 ms is not a whole number of milliseconds.')
  assert.equal(errorOf(readDuration('1.5')), '"1.5" is not understood. Expected 7 d, 36 h or 500 ms.')
  assert.match(errorOf(readSize('5 G')), /^"G" is not a unit here\. The units are PiB, .*, B, PB, .*, kB\.$/)
  assert.match(errorOf(readSize('-5 KiB')), /not understood/)
  assert.match(errorOf(readSize('1e9')), /not understood/)
})

test('values are written with the largest unit that loses nothing', () => {
  assert.equal(showDuration('604800000'), '7 d')
  assert.equal(showDuration('129600000'), '36 h')
  assert.equal(showDuration('90001'), '90001 ms')
  assert.equal(showDuration('9223372036854775807'), '9223372036854775807 ms')
  assert.equal(showDuration('-1'), 'no limit')
  assert.equal(showDuration('-2'), '-2')
  assert.equal(showDuration('0'), '0 ms')
  assert.equal(showSize('1073741824'), '1 GiB')
  assert.equal(showSize('1048588'), '1048588 B')
  assert.equal(showSize('2000000000'), '2 GB')
  assert.equal(showSize('2048'), '2 KiB')
  assert.equal(showSize('producer'), 'producer')
})

test('each integer that is written is read back', () => {
  const unit = fc.constantFrom(1n, 1_000n, 60_000n, 86_400_000n, 1_024n, 2n ** 30n, 2n ** 50n)
  fc.assert(
    fc.property(fc.bigInt({ min: -10n, max: 2n ** 63n }), unit, (number, factor) => {
      const value = (number * factor).toString()
      assert.equal(integerOf(readDuration(showDuration(value))), value)
      assert.equal(integerOf(readSize(showSize(value))), value)
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteRate, bytes, count, counted, duration, exactBytes, percent, rate } from './format.ts'

test('a number that is not known is a dash everywhere', () => {
  for (const unknown of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY])
    for (const write of [count, rate, bytes, exactBytes, byteRate, duration, percent])
      assert.match(write(unknown as number), /^—/, write.name)
})

test('counts have all digits', () => {
  assert.equal(count(0), '0')
  assert.equal(count(12_300), '12,300')
  assert.equal(count(9_223_372_036_854_775_807n), '9,223,372,036,854,775,807')
  assert.equal(counted(1, 'record'), '1 record')
  assert.equal(counted(1n, 'record'), '1 record')
  assert.equal(counted(0, 'record'), '0 records')
  assert.equal(counted(2, 'entry', 'entries'), '2 entries')
})

test('numbers are written as Intl.NumberFormat writes them', () => {
  const intl = (value: number | bigint, options: Intl.NumberFormatOptions) =>
    new Intl.NumberFormat('en-US', options).format(value)
  const bases = [0, 1, 1.5, 12.345, 99.96, 123.4567, 999.6, 1_000, 12_345.678, 999_999, 1_048_576, 0.000_123_4]
  const values = bases.flatMap(base => [1, 1e3, 1e9, 1e18, 1e22, 1e-3, 1e-9].flatMap(by => [base * by, -base * by]))
  for (const value of values.filter(each => !Object.is(each, -0))) {
    assert.equal(rate(value), intl(value, { maximumSignificantDigits: 3 }))
    if (Math.abs(value) > 0.001) assert.equal(count(value), intl(value, { maximumFractionDigits: 3 }))
  }
  for (const value of [0n, 7n, 1_000n, -123_456n, 2n ** 63n, 10n ** 30n]) assert.equal(count(value), intl(value, {}))
})

test('rates have three significant digits', () => {
  for (const [value, written] of [
    [0, '0'],
    [0.1234, '0.123'],
    [1.006, '1.01'],
    [99.96, '100'],
    [12_345, '12,300'],
  ] as const)
    assert.equal(rate(value), written)
})

test('bytes have the unit that keeps them below 1024', () => {
  for (const [value, written] of [
    [0, '0 B'],
    [1_023, '1,023 B'],
    [0.5, '0.5 B'],
    [1_024, '1 KiB'],
    [1_536, '1.5 KiB'],
    [4_300_000, '4.1 MiB'],
    [1024 ** 4, '1 TiB'],
    [2n ** 63n - 1n, '8 EiB'],
    [-2_048, '-2 KiB'],
  ] as const)
    assert.equal(bytes(value), written)
  assert.equal(exactBytes(1_536), '1,536 bytes')
  assert.equal(exactBytes(1), '1 byte')
  assert.equal(byteRate(1_536), '1.5 KiB/s')
})

test('durations have at most two units, and are never rounded up to the next one', () => {
  for (const [ms, written] of [
    [0, '0 ms'],
    [0.4213, '0.421 ms'],
    [999.4, '999 ms'],
    [999.9, '1 s'],
    [1_500, '1.5 s'],
    [59_990, '1 min'],
    [59_900, '59.9 s'],
    [125_000, '2 min 5 s'],
    [3_599_999, '59 min 59 s'],
    [3_600_000, '1 h'],
    [12_000_000, '3 h 20 min'],
    [86_399_999, '23 h 59 min'],
    [604_800_000, '7 d'],
    [612_000_000, '7 d 2 h'],
    [-1_500, '-1.5 s'],
    [9_223_372_036_854_775_807n, '106,751,991,167 d 7 h'],
  ] as const)
    assert.equal(duration(ms), written)
})

test('a share is a percentage', () => {
  assert.equal(percent(0.125), '12.5%')
  assert.equal(percent(1), '100%')
})

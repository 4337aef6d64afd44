import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { readInstant } from './read-instant.ts'
import {
  allZones,
  instant,
  isZone,
  machineTime,
  offsetText,
  relative,
  startOfDay,
  timeOfDay,
  UTC,
  zoneLabel,
} from './zone.ts'

const KOLKATA = 'Asia/Kolkata'
const BERLIN = 'Europe/Berlin'
const MS = Date.UTC(2026, 10, 20, 21, 10, 3, 412)

function read(text: string, zone: string) {
  const result = readInstant(text, zone)
  if ('error' in result) throw new Error(result.error)
  return result
}

function errorOf(text: string): string {
  const result = readInstant(text, UTC)
  assert.ok('error' in result, text)
  return result.error
}

test('an instant has the date, the time and the milliseconds of its zone', () => {
  assert.equal(instant(MS, UTC), '2026-11-20 21:10:03.412')
  assert.equal(instant(MS, KOLKATA), '2026-11-21 02:40:03.412')
  assert.equal(instant(Date.UTC(2026, 0, 1), UTC), '2026-01-01 00:00:00.000')
  assert.equal(timeOfDay(MS, KOLKATA), '02:40:03')
  assert.equal(zoneLabel(KOLKATA, MS), 'Asia/Kolkata (UTC+05:30)')
  assert.equal(zoneLabel(BERLIN, Date.UTC(2026, 6, 1)), 'Europe/Berlin (UTC+02:00)')
  assert.equal(zoneLabel('America/St_Johns', MS), 'America/St_Johns (UTC-03:30)')
  assert.equal(zoneLabel(UTC, MS), 'UTC')
  assert.equal(machineTime(MS), '2026-11-20T21:10:03.412Z')
})

test('times before 1970, before the year 1 and beyond the year 9999 are written', () => {
  assert.equal(instant(-1, UTC), '1969-12-31 23:59:59.999')
  assert.equal(instant(-0.5, UTC), '1969-12-31 23:59:59.999')
  assert.equal(instant(Date.UTC(-1, 0, 1), UTC), '-000001-01-01 00:00:00.000')
  assert.equal(instant(-62_167_219_200_000, UTC), '0000-01-01 00:00:00.000')
  assert.equal(instant(-62_167_219_200_001, UTC), '-000001-12-31 23:59:59.999')
  assert.equal(instant(8.64e15, UTC), '+275760-09-13 00:00:00.000')
  assert.equal(instant(-8.64e15, UTC), '-271821-04-20 00:00:00.000')
  assert.equal(offsetText(-8.64e15, 'America/New_York'), '-04:56:02')
})

test('no timestamp is a dash, and one beyond the calendar is its number', () => {
  for (const write of [instant, timeOfDay]) {
    assert.equal(write(null, UTC), '—')
    assert.equal(write(undefined, UTC), '—')
    assert.equal(write(8.64e15 + 1, UTC), '8,640,000,000,000,001 ms')
    assert.equal(write(2 ** 63, UTC), '9,223,372,036,854,776,000 ms')
  }
  assert.equal(machineTime(null), undefined)
  assert.equal(machineTime(-8.64e15 - 1), undefined)
  assert.equal(offsetText(2 ** 63, BERLIN), '+00:00')
  assert.equal(relative(2 ** 63, MS), '')
})

test('a time is read in the forms that people write', () => {
  for (const text of [
    ...[
      '2026-11-20 21:10:03.412',
      ' 2026-11-20T21:10:03.412 ',
      '2026-11-20T21:10:03.412Z',
      '2026-11-20 21:10:03,412 UTC',
    ],
    ...['2026-11-21 02:40:03.412 +05:30', '2026-11-21T02:40:03.412+0530', String(MS), '+002026-11-20 21:10:03.412'],
  ])
    assert.deepEqual(read(text, UTC), { ms: MS, hint: null }, text)
  assert.equal(read('2026-11-21 02:40:03.412', KOLKATA).ms, MS)
  assert.equal(read('2026-11-20 21:10:03.4', UTC).ms, MS - 12)
  assert.equal(read('2026-11-20 21:10', UTC).ms, MS - 3_412)
  assert.equal(read('2026-11-20', UTC).ms, Date.UTC(2026, 10, 20))
  assert.equal(read('2024-02-29', UTC).ms, Date.UTC(2024, 1, 29))
  assert.equal(read('-86400000', UTC).ms, -86_400_000)
})

test('text that is no time gets a sentence about it', () => {
  assert.match(errorOf(''), /^Expected a time such as/)
  assert.match(errorOf('yesterday'), /^"yesterday" is not a time\. Expected/)
  assert.match(errorOf('2026-13-01'), /13 is not a month/)
  assert.match(errorOf('2026-02-29'), /2026-02 has no day 29\. Its days are 01 to 28/)
  assert.match(errorOf('2026-11-20 24:00'), /hours are 00 to 23/)
  assert.match(errorOf('2026-11-20 21:10:60'), /seconds 00 to 59/)
  assert.match(errorOf('+275760-09-13 00:00:00.001'), /beyond the calendar/)
  assert.match(errorOf('9223372036854775807'), /beyond the calendar/)
})

test('a time that the clocks skip lies as much after the change, and a hint says so', () => {
  // In Berlin 01:59:59 is followed by 03:00:00 on this day.
  const { ms, hint } = read('2026-03-29 02:30:00.000', BERLIN)
  assert.equal(ms, Date.UTC(2026, 2, 29, 1, 30))
  assert.equal(hint, 'The clocks of Europe/Berlin skip this time. 2026-03-29 03:30:00.000 is used in its place.')
  assert.equal(read('2026-03-29 01:59:59.999', BERLIN).hint, null)
  assert.deepEqual(read('2026-03-29 03:00', BERLIN), { ms: Date.UTC(2026, 2, 29, 1), hint: null })
  // Samoa skipped the whole of this day.
  assert.equal(instant(read('2011-12-30 12:00', 'Pacific/Apia').ms, 'Pacific/Apia'), '2011-12-31 12:00:00.000')
})

test('a time that the clocks repeat is the first, and the hint tells how to write the second', () => {
  const first = read('2026-10-25 02:30', BERLIN)
  assert.equal(first.ms, Date.UTC(2026, 9, 25, 0, 30))
  assert.match(first.hint!, /twice\. This is the first one, \+02:00\. For the second one, write \+01:00 behind it\./)
  assert.deepEqual(read('2026-10-25 02:30 +01:00', BERLIN), { ms: Date.UTC(2026, 9, 25, 1, 30), hint: null })
  assert.equal(read('2026-10-25 03:00', BERLIN).hint, null)
  // Lord Howe Island changes its clocks by half an hour.
  assert.match(read('2026-04-05 01:45', 'Australia/Lord_Howe').hint!, /\+11:00\. .* \+10:30/)
})

test('a written instant is read back to the millisecond in every zone', () => {
  const zones = allZones()
  assert.ok(zones.length > 300)
  const zone = fc.constantFrom(...zones)
  const ms = fc.oneof(
    fc.integer({ min: Date.UTC(1850, 0), max: Date.UTC(2100, 0) }),
    fc.maxSafeInteger().filter(value => Math.abs(value) <= 8.64e15),
    fc.constantFrom(8.64e15, -8.64e15, 0, -1),
  )
  fc.assert(
    fc.property(ms, zone, (ms, zone) => {
      const { ms: back, hint } = read(instant(ms, zone), zone)
      if (hint === null) assert.equal(back, ms)
      else {
        // Only a repeated time has two instants. With its offset it has one.
        assert.match(hint, /twice/)
        assert.ok(back <= ms)
        assert.equal(instant(back, zone), instant(ms, zone))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('a zone that Intl does not know is refused', () => {
  assert.ok(isZone(BERLIN))
  assert.ok(isZone(UTC))
  for (const zone of ['', 'Mars/Olympus', '../etc', '<img>']) assert.equal(isZone(zone), false, zone)
})

test('the distance to now has one unit', () => {
  for (const [distance, written] of [
    [0, 'just now'],
    [-999, 'just now'],
    [4_000, '4 s ago'],
    [-180_000, 'in 3 min'],
    [7_200_000, '2 h ago'],
    [2 * 86_400_000 + 5, '2 d ago'],
    [1_234 * 86_400_000, '1,234 d ago'],
  ] as const)
    assert.equal(relative(MS - distance, MS), written)
  assert.equal(relative(null, MS), '')
})

test('a day begins at its midnight, on both sides of a change of the clocks', () => {
  assert.equal(instant(startOfDay(MS, UTC), UTC), '2026-11-20 00:00:00.000')
  assert.equal(instant(startOfDay(MS, KOLKATA), KOLKATA), '2026-11-21 00:00:00.000')
  for (const [month, day] of [
    [2, 29],
    [9, 25],
  ] as const) {
    const start = startOfDay(Date.UTC(2026, month, day, 12), BERLIN)
    assert.equal(instant(start, BERLIN), `2026-${String(month + 1).padStart(2, '0')}-${day} 00:00:00.000`)
  }
  // On this day the clocks of Santiago went from midnight to one o'clock.
  const santiago = 'America/Santiago'
  assert.equal(instant(startOfDay(Date.UTC(2025, 8, 7, 16), santiago), santiago), '2025-09-07 01:00:00.000')
})

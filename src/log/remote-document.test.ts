import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AdoptingLog,
  afterLeaving,
  afterReading,
  beforeTrim,
  type Read,
  withKnown,
  withLogStart,
} from './remote-document.ts'
import type { RemoteLog, Span } from './remote-log.ts'
import { NO_SEGMENTS, type SealedSegments, type Segment } from './segments.ts'

const REMOTE: RemoteLog = { logStart: 0, ranges: [], lost: [], epochs: [], version: 0, readUnder: 'one' }
const epoch = (number: number, startOffset: number) => ({ epoch: number, startOffset })

function log(start: number, end: number, more: Partial<AdoptingLog> = {}): AdoptingLog {
  const chunks: AdoptingLog['chunks'] = []
  return {
    start,
    end,
    emptyFrom: end,
    activeFrom: start,
    highWatermark: end,
    incarnation: 'one',
    epochs: [],
    chunks,
    ...more,
  }
}

function read(ranges: readonly Span[], more: Partial<Read> = {}): Read {
  return { facts: { ranges, logStart: 0 }, version: 7, epochs: [], nowMs: 0, ...more }
}

const segment = (base: number, next: number) => ({ base, next }) as Segment
const document = (segments: readonly Segment[], remote: RemoteLog | null = null): SealedSegments => ({
  ...NO_SEGMENTS,
  segments,
  end: segments.at(-1)?.next ?? 0,
  remote,
})
const partsOf = ({ segments }: SealedSegments) => segments.map(({ base, next }) => [base, next])

test('a topic that is new to the remote tier begins at its local start, and has no version of a table', () => {
  const after = afterReading(NO_SEGMENTS, log(5, 9), read([], { version: 0 }))
  assert.deepEqual(after?.remote, { ...REMOTE, logStart: 5 })
  assert.equal(afterReading(after!, log(5, 9), read([], { version: 3 })), null, 'nothing has changed for it')
})

test('a document that the store has lost is rebuilt from the table, with its epochs', () => {
  const epochs = [epoch(1, 0), epoch(3, 12)]
  const after = afterReading(NO_SEGMENTS, log(20, 50), read([[4, 40]], { epochs }))!
  assert.deepEqual(after.remote, { ...REMOTE, logStart: 4, ranges: [[4, 40]], epochs, version: 7 })
  assert.deepEqual([partsOf(after), after.end], [[[20, 40]], 40])
})

test('a topic that has left the remote tier and comes back does not get its old records again', () => {
  const left = afterLeaving(document([], { ...REMOTE, ranges: [[0, 20]] }))!
  assert.deepEqual([left.remote, left.hasLeftRemote, afterLeaving(left)], [null, true, null])
  const back = afterReading(left, log(20, 50), read([[0, 20]]))!
  assert.deepEqual([back.remote?.logStart, back.remote?.ranges, back.hasLeftRemote], [20, [], false])
})

test('what the table has above the last segment is sealed, cut where ranges begin and end', () => {
  const stored = document([segment(0, 10)], REMOTE)
  const after = afterReading(
    stored,
    log(0, 60),
    read([
      [0, 20],
      [30, 40],
    ]),
  )!
  assert.deepEqual(partsOf(after), [
    [0, 10],
    [10, 20],
    [20, 30],
    [30, 40],
  ])
  assert.equal(after.end, 40)
  const passed = afterReading(
    document([segment(0, 10)], REMOTE),
    log(25, 60),
    read([
      [0, 20],
      [30, 40],
    ]),
  )!
  assert.deepEqual(partsOf(passed), [
    [25, 30],
    [30, 40],
  ])
})

test('a segment that the table has in part is cut, but not at the log start', () => {
  const stored = { ...document([segment(0, 10), segment(10, 30)], REMOTE) }
  const after = afterReading(stored, log(0, 60), read([[0, 20]]))!
  assert.deepEqual(partsOf(after), [
    [0, 10],
    [10, 20],
    [20, 30],
  ])
  const cut = afterReading(stored, log(0, 60), read([], { facts: { ranges: [[4, 10]], logStart: 4 } }))!
  assert.deepEqual(partsOf(cut), [
    [0, 10],
    [10, 30],
  ])
})

test('archived offsets that the stream has lost are read from the archive, also if the store forgets a trim', () => {
  const stored = document([segment(0, 40)], { ...REMOTE, ranges: [[0, 40]] })
  const after = afterReading(stored, log(0, 25, { incarnation: 'two' }), read([[0, 40]]))!
  assert.deepEqual([after.remote?.lost, after.remote?.readUnder], [[[25, 40]], 'two'])
  const again = afterReading(after, log(0, 45, { emptyFrom: 20, incarnation: 'three' }), read([[0, 40]]))!
  assert.deepEqual(again.remote?.lost, [[20, 40]])
  const trimmed = afterReading(again, log(40, 50, { incarnation: 'four' }), read([[0, 40]]))!
  assert.deepEqual(trimmed.remote?.lost, [[20, 40]])
  const facts = { ranges: [[0, 40]] as const, logStart: 40 }
  const passed = afterReading(trimmed, log(0, 50, { incarnation: 'five' }), read([], { facts }))!
  assert.deepEqual(passed.remote?.lost, [])
})

test('the log start of the table moves that of the log, and never back', () => {
  const stored = document([], {
    ...REMOTE,
    logStart: 5,
    ranges: [[0, 20]],
    epochs: [epoch(1, 0), epoch(2, 8), epoch(3, 12)],
  })
  const facts = { ranges: [[10, 20]] as const, logStart: 10 }
  const after = afterReading({ ...stored, end: 20 }, log(20, 50), read([], { facts }))!
  const { logStart, ranges, epochs } = after.remote!
  assert.deepEqual([logStart, ranges, epochs], [10, [[10, 20]], [epoch(2, 8), epoch(3, 12)]])
  const older = afterReading(after, log(20, 50), read([[0, 30]]))!
  assert.deepEqual([older.remote?.logStart, older.remote?.ranges], [10, [[10, 30]]])
})

test('the epochs that a trim drops stay in the document, those below the log start do not', () => {
  const stored = document([], { ...REMOTE, logStart: 3, epochs: [epoch(1, 0)] })
  const live = [epoch(1, 0), epoch(2, 10), epoch(4, 20)]
  assert.equal(beforeTrim(stored, live, 10), null, 'the document has the first one already')
  assert.deepEqual(beforeTrim(stored, live, 15)?.remote?.epochs, [epoch(1, 0), epoch(2, 10)], 'it may be lost later')
  assert.deepEqual(beforeTrim(stored, live, 20)?.remote?.epochs, [epoch(1, 0), epoch(2, 10)])
  assert.deepEqual(beforeTrim(stored, live, 25)?.remote?.epochs, live, 'the stream may forget the newest one too')
  assert.equal(beforeTrim(document([]), live, 20), null)
})

test('a higher log start cuts ranges and lost spans', () => {
  const stored = document([], {
    ...REMOTE,
    ranges: [
      [0, 10],
      [20, 40],
    ],
    lost: [
      [5, 10],
      [30, 40],
    ],
  })
  const { remote } = withLogStart(stored, 25)!
  assert.deepEqual([remote?.logStart, remote?.ranges, remote?.lost], [25, [[25, 40]], [[30, 40]]])
  assert.equal(withLogStart({ ...stored, remote }, 25), null)
})

test('a document that went back in time gets what its leader knows: the log start, lost offsets and epochs', () => {
  const stored = document([], { ...REMOTE, ranges: [[0, 30]], lost: [[20, 22]], epochs: [epoch(1, 0)] })
  const known: RemoteLog = {
    ...stored.remote!,
    logStart: 5,
    lost: [[10, 15]],
    epochs: [epoch(1, 0), epoch(2, 8)],
  }
  assert.deepEqual(withKnown(stored, known).remote, {
    ...known,
    ranges: [[5, 30]],
    lost: [
      [10, 15],
      [20, 22],
    ],
  })
  assert.equal(withKnown(stored, stored.remote), stored)
  assert.equal(withKnown(stored, null), stored)
  const left = document([])
  assert.equal(withKnown(left, known), left)
})

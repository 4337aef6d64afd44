import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { exampleBatch } from '../examples.ts'
import { encodeFileHeader, FIRST_ROUND, markOf, RoundWriter } from './entry.ts'
import { recover, type SourceFile } from './recovery.ts'

const INCARNATION = Buffer.from('incarnat')
const START = { file: 1, position: FIRST_ROUND, sequence: 0, era: 1 }

interface RoundSpec {
  readonly sequence: number
  readonly era?: number
  /** The position that was known as synced when the round was formed; in file 1 unless a file is named. */
  readonly synced?: number
  readonly syncedFile?: number
}

/** Returns a round with one append of one batch at offset `sequence`. */
function roundOf(
  { sequence, era = 1, synced = FIRST_ROUND, syncedFile = 1 }: RoundSpec,
  incarnation = INCARNATION,
): Buffer {
  const batch = exampleBatch(sequence, 1, 100 + sequence)
  const writer = new RoundWriter(incarnation, sequence)
  writer.add({
    type: 'append',
    stream: 7,
    epoch: 1,
    at: sequence,
    attempt: `attempt ${sequence}`,
    batches: [markOf(batch)],
    rows: [
      { key: 'k', value: Buffer.from('v') },
      { key: 'gone', value: null },
    ],
  })
  const used = writer.headBytes + batch.bytes.length
  const bytes = Math.ceil(used / 8) * 8
  return Buffer.concat([writer.finish(era, bytes, syncedFile, synced), batch.bytes, Buffer.alloc(bytes - used)])
}

function fileOf(rounds: readonly Buffer[], number = 1, tail = 5000): Buffer {
  const header = Buffer.alloc(FIRST_ROUND)
  encodeFileHeader({ number, incarnation: INCARNATION }).copy(header)
  return Buffer.concat([header, ...rounds, Buffer.alloc(tail)])
}

function sourceOf(bytes: Buffer, number = 1, incarnation: Buffer | null = INCARNATION): SourceFile {
  const read = async (position: number, length: number) => bytes.subarray(position, position + length)
  return { number, incarnation, size: bytes.length, read }
}

async function read(...files: SourceFile[]) {
  const sequences: number[] = []
  const damaged: number[] = []
  const recovery = await recover(
    files,
    START,
    round => {
      if (round.intact) sequences.push(round.sequence)
      else damaged.push(round.sequence)
    },
    () => {},
  )
  return { ...recovery, sequences, damaged }
}

test('an undamaged journal is read to its end', async () => {
  const rounds = [1, 2, 3].map(sequence => roundOf({ sequence }))
  const file = fileOf(rounds)
  const { sequences, end, cutBytes, holes } = await read(sourceOf(file))
  assert.deepEqual([sequences, cutBytes, holes], [[1, 2, 3], 0, []])
  assert.deepEqual(end, { file: 1, position: file.length - 5000, sequence: 3, era: 1 })
})

test('the content of a round is read back as it was written', async () => {
  const [entry] = await new Promise<readonly unknown[]>(resolve => {
    void recover(
      [sourceOf(fileOf([roundOf({ sequence: 1 })]))],
      START,
      round => resolve(round.entries),
      () => {},
    )
  })
  assert.deepEqual(entry, {
    type: 'append',
    stream: 7,
    epoch: 1,
    at: 1,
    attempt: 'attempt 1',
    batches: [markOf(exampleBatch(1, 1, 101))],
    payloadAt: 0,
    rows: [
      { key: 'k', value: Buffer.from('v') },
      { key: 'gone', value: null },
    ],
  })
})

test('a last round that is torn at any byte, or has any bit flipped, is cut and the rest stays', async () => {
  const rounds = [1, 2, 3].map(sequence => roundOf({ sequence }))
  const whole = fileOf(rounds)
  const from = FIRST_ROUND + rounds[0]!.length + rounds[1]!.length
  const to = from + rounds[2]!.length - 8
  for (let at = from; at < to; at++) {
    const torn = Buffer.from(whole)
    torn.fill(0, at)
    const flipped = Buffer.from(whole)
    flipped[at]! ^= 1 << (at % 8)
    for (const bytes of [torn, whole.subarray(0, at), flipped]) {
      const { sequences, end, holes } = await read(sourceOf(bytes))
      assert.deepEqual([sequences, end.position, holes], [[1, 2], from, []], `byte ${at - from} of the round`)
    }
  }
})

test('rounds that were in flight together are cut together when the first of them is torn', async () => {
  const rounds = [1, 2, 3].map(sequence => roundOf({ sequence }))
  const bytes = fileOf(rounds)
  const second = FIRST_ROUND + rounds[0]!.length
  bytes.fill(0, second, second + 200)
  const { sequences, end, cutBytes } = await read(sourceOf(bytes))
  assert.deepEqual([sequences, end.position, cutBytes], [[1], second, rounds[2]!.length])
})

test('a hole below a position that was synced is damage, and the rounds after it are kept', async () => {
  const first = roundOf({ sequence: 1 })
  const second = roundOf({ sequence: 2 })
  const third = roundOf({ sequence: 3, synced: FIRST_ROUND + first.length + second.length })
  const bytes = fileOf([first, second, third])
  const position = FIRST_ROUND + first.length
  bytes[position + 20]! ^= 1
  // The same for any other byte of the round: its entry, its batch, or (at the very end) its padding.
  for (let at = 64; at < second.length; at++) {
    const worse = Buffer.from(bytes)
    worse[position + at]! ^= 1 << (at % 8)
    const { sequences, holes, mended, cutBytes } = await read(sourceOf(worse))
    assert.deepEqual([sequences, cutBytes, mended], [[1, 3], 0, []], `byte ${at}`)
    assert.deepEqual(holes, [{ file: 1, position, rounds: 1 }])
  }
})

test('a round below a synced position is restored if only its header is damaged', async () => {
  const first = roundOf({ sequence: 1 })
  const second = roundOf({ sequence: 2 })
  const third = roundOf({ sequence: 3, synced: FIRST_ROUND + first.length + second.length })
  for (let at = 0; at < 64; at++) {
    const bytes = fileOf([first, second, third])
    bytes[FIRST_ROUND + first.length + at]! ^= 1 << (at % 8)
    const { sequences, holes, mended } = await read(sourceOf(bytes))
    assert.deepEqual([sequences, holes], [[1, 2, 3], []], `byte ${at}`)
    assert.deepEqual(
      mended.map(round => round.sequence),
      [2],
    )
  }
})

test('a hole is damage also when the round after it is torn', async () => {
  const first = roundOf({ sequence: 1 })
  const second = roundOf({ sequence: 2 })
  const third = roundOf({ sequence: 3, synced: FIRST_ROUND + first.length + second.length })
  const bytes = fileOf([first, second, third])
  const position = FIRST_ROUND + first.length
  bytes.fill(0, position + 20, position + 100)
  bytes.fill(0, position + second.length + 200)
  const { sequences, holes, cutBytes } = await read(sourceOf(bytes))
  assert.deepEqual([sequences, cutBytes], [[1], third.length])
  assert.deepEqual(holes, [{ file: 1, position, rounds: 1 }])
})

test('rounds of an older era behind a newer one are the rest of a cut tail, and are ignored', async () => {
  const stale = [1, 2, 3, 4].map(sequence => roundOf({ sequence }))
  const bytes = fileOf(stale)
  roundOf({ sequence: 2, era: 2 }).copy(bytes, FIRST_ROUND + stale[0]!.length)
  const { sequences, end, holes, cutBytes } = await read(sourceOf(bytes))
  assert.deepEqual([sequences, end.era, holes, cutBytes], [[1, 2], 2, [], 0])
})

test('rounds of an older era directly behind the checkpoint are the rest of a cut tail, and are ignored', async () => {
  const stale = [1, 2, 3].map(sequence => roundOf({ sequence }))
  const sequences: number[] = []
  // The start that stored this position has cut the tail, written one round of the same length over it, and was
  // killed.
  const from = { file: 1, position: FIRST_ROUND + stale[0]!.length, sequence: 1, era: 2 }
  const recovery = await recover(
    [sourceOf(fileOf(stale))],
    from,
    round => sequences.push(round.sequence),
    () => {},
  )
  assert.deepEqual([sequences, recovery.end, recovery.cutBytes], [[], from, 0])
})

test('rounds of a former use of the file never parse', async () => {
  const former = Buffer.from('formerly')
  const bytes = fileOf([1, 2].map(sequence => roundOf({ sequence }, former)))
  assert.deepEqual((await read(sourceOf(bytes))).sequences, [])
  const mixed = fileOf([roundOf({ sequence: 1 }), roundOf({ sequence: 2 }, former)])
  assert.deepEqual((await read(sourceOf(mixed))).sequences, [1])
})

test("a client's bytes that look like a round are not one", async () => {
  // The journal's incarnation is random. Bytes without it never pass as a round.
  const forged = roundOf({ sequence: 2 }, Buffer.from('guessing'))
  const bytes = fileOf([roundOf({ sequence: 1 }), Buffer.alloc(64), forged])
  assert.deepEqual((await read(sourceOf(bytes))).sequences, [1])
})

test('rounds continue in the next file, and a file that was only prepared has none', async () => {
  const first = fileOf([1, 2].map(sequence => roundOf({ sequence })))
  const second = fileOf(
    [3, 4].map(sequence => roundOf({ sequence })),
    2,
  )
  const prepared = fileOf([], 3)
  const { sequences, end } = await read(sourceOf(first), sourceOf(second, 2), sourceOf(prepared, 3))
  assert.deepEqual([sequences, end.file], [[1, 2, 3, 4], 2])
})

test('a missing file between two is a hole with its count of rounds', async () => {
  const first = fileOf([1, 2].map(sequence => roundOf({ sequence })))
  const third = fileOf(
    [5, 6].map(sequence => roundOf({ sequence, syncedFile: 3, synced: FIRST_ROUND })),
    3,
  )
  const { sequences, holes } = await read(sourceOf(first), sourceOf(third, 3))
  assert.deepEqual(sequences, [1, 2, 5, 6])
  assert.equal(holes[0]!.rounds, 2)
})

test('recovery never fails and never finds a wrong round, whatever the bytes are', async () => {
  const rounds = [1, 2, 3, 4].map(sequence => roundOf({ sequence, synced: FIRST_ROUND + 100 * sequence }))
  const whole = fileOf(rounds, 1, 100)
  const edits = fc.array(fc.record({ at: fc.nat(whole.length - 1), byte: fc.nat(255) }), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(edits, fc.nat(whole.length), async (changes, length) => {
      const bytes = Buffer.from(whole.subarray(0, whole.length - (length % 300)))
      for (const { at, byte } of changes) if (at >= FIRST_ROUND && at < bytes.length) bytes[at] = byte
      const { sequences, damaged } = await read(sourceOf(bytes))
      const all = [...sequences, ...damaged]
      assert.ok(all.every(sequence => sequence >= 1 && sequence <= 4) && new Set(all).size === all.length)
    }),
    { numRuns: 300 },
  )
})

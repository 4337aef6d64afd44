import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFile, manyBatches, openBytes } from '../../../testing/data-files.ts'
import { withoutChecksums } from '../../../testing/foreign-file.ts'
import { parseFooter } from './footer.ts'
import { readLevels } from './levels.ts'
import { DamagedFile } from './page-cursors.ts'
import { fetchGroup } from './read.ts'
import { restoreBatches } from './restore.ts'
import { endOfStruct } from './thrift-bounds.ts'

/** A varint of the largest number of 32 bits. */
const HUGE = [0xff, 0xff, 0xff, 0xff, 0x0f]

test('a struct ends where hyparquet would end it', () => {
  // A boolean, an i32 of two bytes, a binary of two bytes, a list of three bytes, a struct, and the end.
  const bytes = Buffer.from([0x11, 0x15, 0x80, 0x01, 0x18, 2, 65, 66, 0x19, 0x33, 1, 2, 3, 0x1c, 0, 0, 99])
  assert.equal(endOfStruct(bytes, 0), 16)
})

test('a count or a length that does not fit is refused before memory is taken for it', () => {
  // Lists of lists, each of 2^32 items: hyparquet would make an array for each of them.
  const lists = Buffer.from([0x19, ...Array.from({ length: 1000 }, () => [0xf9, ...HUGE]).flat()])
  assert.throws(() => endOfStruct(lists, 0), /a list of 4294967295 values does not fit/)
  assert.throws(() => endOfStruct(Buffer.from([0x18, ...HUGE, 0]), 0), /a value of 4294967295 bytes does not fit/)
  const nested = Buffer.alloc(1_000_000, 0x1c)
  assert.throws(() => endOfStruct(nested, 0), /more than 32 structs and lists are inside of each other/)
  // It would grow a BigInt by a byte for each byte.
  const long = Buffer.alloc(1_000_000, 0xff)
  long[0] = 0x16
  assert.throws(() => endOfStruct(long, 0), /a number has more than ten bytes/)
  assert.throws(() => parseFooter(Buffer.concat([lists, Buffer.from('\0\0\0\0PAR1')])), DamagedFile)
})

test('levels come back from runs and packed bits, and a run ends with the page', () => {
  assert.deepEqual(
    [...readLevels(Buffer.from([3 << 1, 1, (1 << 1) | 1, 0b1010_0101]), 1, 9)],
    [1, 1, 1, 1, 0, 1, 0, 0, 1],
  )
  assert.deepEqual(
    [...readLevels(Buffer.from([(1 << 1) | 1, 0b11_10_01_00, 0b00_01_10_11]), 2, 8)],
    [0, 1, 2, 3, 3, 2, 1, 0],
  )
  assert.deepEqual([...readLevels(Buffer.from([0xfe, 0xff, 0xff, 0xff, 0x0f, 1]), 1, 2)], [1, 1])
  assert.throws(() => readLevels(Buffer.from([3 << 1, 1]), 1, 4), /the levels of 4 values end after 3/)
})

test('a page that says it has gigabytes is refused', async () => {
  const { file } = await openBytes(encodeFile(manyBatches(1)).bytes)
  const fetched = await fetchGroup(file, file.groups[0]!)
  assert.ok(fetched.kind === 'columns')
  const columns = fetched.columns.map(withoutChecksums)
  const [first, ...others] = columns
  // The page header: i32 type, i32 size without compression as zigzag, and so on.
  const bytes = Buffer.from(first!.bytes)
  assert.equal(bytes[2], 0x15)
  const end = bytes.findIndex((byte, i) => i > 2 && byte < 0x80) + 1
  const grown = Buffer.concat([bytes.subarray(0, 3), Buffer.from([0xfe, ...HUGE.slice(1)]), bytes.subarray(end)])
  const damaged = [{ ...first!, bytes: Uint8Array.from(grown) }, ...others]
  assert.throws(
    () => restoreBatches({ ...fetched, columns: damaged }),
    (error: unknown) => error instanceof DamagedFile && /is larger than any/.test(error.message),
  )
})

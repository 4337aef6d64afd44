import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { MessageIndexes, readIndexes, writeIndexes } from './message-indexes.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

function read(text: string): readonly number[] | null {
  const bytes = hex(text)
  const indexes = new MessageIndexes()
  return indexes.read(bytes, 0, bytes.length) ? [...indexes.path.subarray(0, indexes.length), indexes.end] : null
}

test('a path is a count and positions, and the byte 0 is the first message', () => {
  // The last number is where the body begins.
  assert.deepEqual(read('00 0801'), [0, 1])
  assert.deepEqual(read('04 00 00'), [0, 0, 3])
  assert.deepEqual(read('02 02'), [1, 2])
  assert.deepEqual(read('02 00'), [0, 2])
  assert.deepEqual(read('02 8002 ff'), [128, 3])
})

test('indexes that end early, are negative, too many or too large are refused', () => {
  for (const wrong of ['', '02', '01', '0a 03 616263', '02 01', '02 ffffffffff0f', '8080808080', '02 c09a0c', '8202'])
    assert.equal(read(wrong), null, wrong)
  assert.equal(read(`8001 ${'00'.repeat(64)}`)?.length, 65)
  assert.equal(read(`8201 ${'00'.repeat(65)}`), null)
})

test('written indexes are Confluent’s bytes, and read back', () => {
  assert.deepEqual(writeIndexes([0]), hex('00'))
  assert.deepEqual(writeIndexes([0, 0]), hex('04 00 00'))
  assert.deepEqual(writeIndexes([1]), hex('02 02'))
  fc.assert(
    fc.property(fc.array(fc.nat(99_999), { minLength: 1, maxLength: 64 }), path => {
      assert.deepEqual(read(writeIndexes(path).toString('hex'))?.slice(0, -1), path)
    }),
  )
})

test('a body without indexes is the only top-level message', () => {
  const indexes = new MessageIndexes()
  const known = ({ path, length }: MessageIndexes) => length === 1 && path[0] === 0
  const ask = (text: string, messages: number) => {
    const bytes = hex(text)
    return [readIndexes(indexes, bytes, 0, bytes.length, messages, known), indexes.path[0], indexes.end]
  }
  assert.deepEqual(ask('00 0807', 1), ['read', 0, 1])
  assert.deepEqual(ask('08 07', 1), ['missing', 0, 0])
  // Indexes that lead to no message.
  assert.deepEqual(ask('02 02 0807', 1), ['missing', 0, 0])
  assert.deepEqual(ask('', 1), ['missing', 0, 0])
  assert.equal(ask('08 07', 2)[0], 'wrong')
  assert.equal(ask('02 02', 2)[0], 'wrong')
})

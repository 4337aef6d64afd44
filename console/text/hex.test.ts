import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { bytesOfBase64, hexLines } from './hex.ts'

test('a line has 16 bytes, their position and their ASCII characters', () => {
  assert.deepEqual(hexLines(Buffer.from('0123456789abcdef\0Hi ~\x7fé')), [
    '00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|',
    '00000010  00 48 69 20 7e 7f c3 a9                           |.Hi ~...|',
  ])
  assert.deepEqual(hexLines(new Uint8Array(0)), [])
})

test('every byte can be read back from its line', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), bytes => {
      const read = hexLines(bytes).map(line => line.slice(10, 59).replaceAll(' ', ''))
      assert.deepEqual(new Uint8Array(Buffer.from(read.join(''), 'hex')), bytes)
    }),
  )
})

test('base64 gives its bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array(), bytes => {
      assert.deepEqual(bytesOfBase64(Buffer.from(bytes).toString('base64')), bytes)
    }),
  )
  assert.throws(() => bytesOfBase64('a?'))
})

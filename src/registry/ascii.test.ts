import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asciiUntil } from './ascii.ts'

test('a byte that is not ASCII is found at every place of a text of every length', () => {
  const bytes = Buffer.alloc(64, 'x')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let length = 0; length <= 50; length++) {
    for (let from = 0; from < 5; from++) {
      const end = from + length
      // The bytes around the text do not count.
      bytes[end] = 0xff
      if (from > 0) bytes[from - 1] = 0xff
      assert.equal(asciiUntil(bytes, view, from, end), end)
      for (let at = from; at < end; at++) {
        bytes[at] = 0x80
        assert.equal(asciiUntil(bytes, view, from, end), at)
        bytes[at] = 0x78
      }
      bytes[end] = 0x78
      if (from > 0) bytes[from - 1] = 0x78
    }
  }
})

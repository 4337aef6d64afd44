// Payloads as bytes: what is JSON at all, and the text that people see.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import type { Fault } from '../format.ts'
import { Payloads } from './payload-batch.ts'
import { decodeJson, encodeJson } from './payload-text.ts'

const MOST = 1_000_000

function decode(payload: string | Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from('before'), Buffer.from(payload), Buffer.from('after')])
  const text = decodeJson(bytes, 6, bytes.length - 5, MOST)
  return typeof text === 'string' ? text : `${text.reason}: ${text.message}`
}

test('a payload is shown as it was sent', () => {
  const text = '{ "a": 12345678901234567890, "b": 1.50,\n "é😀": [true, null] }'
  assert.equal(decode(text), text)
  assert.deepEqual(encodeJson(text, MOST), Buffer.from(text))
})

test('the reason says why a payload is no JSON', () => {
  assert.equal(decode(''), 'truncated: the payload is empty; JSON has at least one character')
  assert.match(decode('{"a":'), /^bad-value: the payload is not JSON: /)
  assert.match(decode('{} {}'), /^bad-value: the payload is not JSON: /)
  assert.match(decode('\ufeff{}'), /^bad-value: the payload is not JSON: /)
  assert.equal(decode(Uint8Array.of(0x22, 0xc3, 0x22)), 'bad-value: the payload is not UTF-8')
  assert.equal(decode(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)), 'bad-value: the payload is not UTF-8')
})

test('a payload has at most 512 levels', () => {
  const arrays = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
  for (const nested of [arrays, objects]) {
    assert.equal(decode(nested(512)), nested(512))
    assert.equal(decode(nested(513)), 'too-deep: the payload has more than 512 levels')
  }
  assert.match(decode('['.repeat(200_000)), /^too-deep/)
  // Many brackets are no depth, and those in strings are none at all.
  const wide = `[${Array.from({ length: 1_000 }, () => '[]').join()},"${'\\"['.repeat(1_000)}"]`
  assert.equal(decode(wide), wide)
})

test('a payload of more bytes than wanted is not shown', () => {
  const fault = decodeJson(Buffer.from('[1,2]'), 0, 5, 4) as Fault
  assert.equal(fault.message, 'the payload has 5 bytes, and 4 are allowed')
  assert.equal((encodeJson('"éé"', 4) as Fault).message, 'the payload has 6 bytes, and 4 are allowed')
})

test('a text that is no JSON is not encoded', () => {
  assert.match((encodeJson('{a:1}', MOST) as Fault).message, /not JSON/)
  assert.match((encodeJson('"\ud800"', MOST) as Fault).message, /half a surrogate pair/)
  assert.equal((encodeJson('', MOST) as Fault).reason, 'truncated')
})

function payloadsOf(parts: readonly Uint8Array[]): Payloads {
  let end = 0
  const ends = Uint32Array.from(parts, part => {
    end += part.length
    return end
  })
  const memory = new ArrayBuffer(end)
  new Uint8Array(memory).set(Buffer.concat(parts))
  return new Payloads(memory, ends)
}

test('each payload of a batch is read by itself, whatever its neighbours are', () => {
  const parts = fc.oneof(
    fc.json().map(text => Buffer.from(text)),
    fc.uint8Array({ maxLength: 8 }),
    fc.constantFrom('1,2', '"a', 'b"', '[1', '2]', '', ' ', '"é', '\xa9"').map(text => Buffer.from(text, 'latin1')),
  )
  fc.assert(
    fc.property(fc.array(parts, { minLength: 1, maxLength: 20 }), all => {
      const payloads = payloadsOf(all)
      for (const [index, part] of all.entries()) {
        const alone = payloadsOf([part]).read(0)
        const together = payloads.read(index)
        assert.equal('fault' in together, 'fault' in alone)
        if ('value' in alone && 'value' in together) assert.deepEqual(together.value, alone.value)
      }
    }),
  )
})

test('a batch of many megabytes is read in groups', () => {
  const parts = Array.from({ length: 3_000 }, (_, at) => Buffer.from(JSON.stringify({ at, text: 'x'.repeat(1_000) })))
  const payloads = payloadsOf(parts)
  for (let index = 0; index < parts.length; index++) {
    const read = payloads.read(index)
    assert.equal('value' in read && (read.value as { at: number }).at, index)
  }
})

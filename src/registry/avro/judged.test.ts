// Random schemas and payloads, and payloads with a damaged byte, judged by avsc beside the walker. It is asked about
// damaged ones only where no array or map is: it believes any count.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeOf } from '../../../testing/avro.ts'
import { SchemaMaker, textOf } from '../../../testing/avro-schemas.ts'
import { seed } from '../../../testing/seed.ts'
import { type Random, seededRandom } from '../../base/random.ts'
import { avro } from './avro.ts'
import { decodeAvro } from './decode.ts'
import { encodeAvro } from './encode.ts'
import { AvroWalker } from './walker.ts'

const MOST_BYTES = 1_000_000
const STEPS = 1_000_000
/** Where avsc is lax. */
const STRICTER = /the text is no valid UTF-8|a boolean is 0 or 1|an integer has more than (32|64) bits/

/** Calls `use` with schemas that avsc understands, and payloads of theirs. */
function sample(
  random: Random,
  payloads: number,
  use: (schema: string, payload: Buffer, read: (bytes: Buffer) => unknown) => void,
) {
  for (let count = 0; count < payloads; ) {
    const schema = textOf(new SchemaMaker(random).schema(), random)
    const judge = judgeOf(schema)
    for (let i = 0; judge !== null && i < 3; i++, count++) {
      const payload = judge.sample(random)
      // The type has no finite value.
      if (payload === null) break
      use(schema, payload, judge.read)
    }
  }
}

const programOf = (text: string) => avro.compile(avro.parse({ text, dependencies: [] }, 'stored'))

test('payloads that avsc writes are valid, and survive decoding and encoding', () => {
  sample(seededRandom(seed), 600, (schema, payload) => {
    const program = programOf(schema)
    const text = decodeAvro(program, payload, 0, payload.length, MOST_BYTES)
    assert.ok(typeof text === 'string', `${schema} ${JSON.stringify(text)}`)
    JSON.parse(text)
    const encoded = encodeAvro(program, text, MOST_BYTES)
    assert.ok(Buffer.isBuffer(encoded), `${schema} ${text} ${JSON.stringify(encoded)}`)
    assert.deepEqual(encoded, payload, `${schema} ${text}`)
  })
})

test('damaged payloads are valid exactly where avsc can read them, but for its laxness', () => {
  const random = seededRandom(seed + 1)
  const agreed = { valid: 0, invalid: 0 }
  sample(random, 600, (schema, payload, read) => {
    const walker = new AvroWalker(programOf(schema))
    for (const bytes of [
      damaged(payload, random),
      payload.subarray(0, random.below(payload.length + 1)),
      Buffer.concat([payload, random.bytes(1)]),
    ]) {
      walker.begin(bytes, 0, bytes.length)
      const fault = walker.run(STEPS)
      assert.notEqual(fault, 'more')
      if (fault !== null && fault !== 'more' && (STRICTER.test(fault.message) || /"(array|map)"/.test(schema))) continue
      assert.equal(read(bytes) !== undefined, fault === null, `${schema} ${bytes.toString('hex')}`)
      agreed[fault === null ? 'valid' : 'invalid']++
    }
  })
  assert.ok(agreed.valid > 100 && agreed.invalid > 100, JSON.stringify(agreed))
})

function damaged(payload: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(payload)
  if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256)
  return bytes
}

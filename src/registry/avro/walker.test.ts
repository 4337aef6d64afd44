import assert from 'node:assert/strict'
import { test } from 'node:test'
import { avro } from './avro.ts'
import { AvroWalker } from './walker.ts'

const walkerOf = (text: string) => new AvroWalker(avro.compile(avro.parse({ text, dependencies: [] }, 'new')))
const record = (...fields: readonly string[]) => `{"type":"record","name":"R","fields":[${fields.join(',')}]}`
const field = (name: string, type: string) => `{"name":"${name}","type":${type}}`
const array = (items: string) => `{"type":"array","items":${items}}`
const map = (values: string) => `{"type":"map","values":${values}}`

function verdict(text: string, hex: string | Buffer) {
  const walker = walkerOf(text)
  const bytes = typeof hex === 'string' ? Buffer.from(hex.replaceAll(' ', ''), 'hex') : hex
  // The bytes around the payload must not matter.
  const padded = Buffer.concat([Buffer.from([0xff, 2, 0]), bytes, Buffer.from([0, 0xff])])
  walker.begin(padded, 3, 3 + bytes.length)
  const result = walker.run(1_000_000)
  assert.notEqual(result, 'more')
  return result === 'more' ? null : result
}

const message = (text: string, hex: string | Buffer) => verdict(text, hex)?.message ?? 'valid'

test('a value of each type is valid', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['"null"', ''],
    ['"boolean"', '00'],
    ['"boolean"', '01'],
    ['"int"', 'ff ff ff ff 0f'],
    ['"int"', 'fe ff ff ff 0f'],
    ['"int"', '80 80 80 00'],
    ['"long"', 'ff ff ff ff ff ff ff ff ff 01'],
    ['"float"', '00000000'],
    ['"double"', '0000000000000000'],
    ['"bytes"', '04 ffff'],
    ['"string"', '04 c3a4'],
    ['"string"', '00'],
    ['{"type":"enum","name":"E","symbols":["A","B"]}', '02'],
    ['{"type":"fixed","name":"F","size":2}', 'ffff'],
    ['{"type":"fixed","name":"F","size":0}', ''],
    ['["null","int"]', '00'],
    ['["null","int"]', '02 02'],
    [array('"int"'), '00'],
    [array('"int"'), '04 02 04 02 06 00'],
    // A block with its length in bytes.
    [array('"int"'), '03 04 02 04 00'],
    [map('"int"'), '02 02 61 02 00'],
    [map('"null"'), '02 02 61 00'],
    [array('"null"'), 'a09c01 00'],
    [record(), ''],
    [record(field('f', '"int"'), field('g', '"null"'), field('h', '"boolean"')), '02 01'],
    [record(field('f', '["null","R"]')), '02 02 02 00'],
  ]
  for (const [text, hex] of rows) assert.equal(message(text, hex), 'valid', `${text} ${hex}`)
})

test('wrong bytes are refused with the place', () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['"null"', '00', 'at byte 0: 1 bytes follow the value'],
    ['"boolean"', '', 'at byte 0: the payload ends within a value'],
    ['"boolean"', '02', 'at byte 0: a boolean is 0 or 1, not 2'],
    ['"int"', '80', 'at byte 0: the payload ends within a value'],
    ['"int"', 'ff ff ff ff 1f', 'at byte 0: an integer has more than 32 bits'],
    ['"int"', 'ff ff ff ff ff 01', 'at byte 0: an integer has more than 32 bits'],
    ['"long"', 'ff ff ff ff ff ff ff ff ff 02', 'at byte 0: an integer has more than 64 bits'],
    ['"long"', 'ff ff ff ff ff ff ff ff ff ff', 'at byte 0: an integer has more than 64 bits'],
    ['"float"', '000000', 'at byte 0: the payload ends within a value'],
    ['{"type":"fixed","name":"F","size":2}', 'ff', 'at byte 0: the payload ends within a value'],
    ['"string"', '04 61', 'at byte 0: a length of 2 with 1 bytes left'],
    ['"string"', '01', 'at byte 0: a length of -1'],
    ['"string"', 'ff ff ff ff ff ff ff ff ff 01', 'at byte 0: a length of -9223372036854776000'],
    ['"bytes"', 'fe ff ff ff ff ff ff ff ff 01', 'at byte 0: a length of 9223372036854776000 with 0 bytes left'],
    ['"string"', '06 61 c3 28', 'at byte 2: the text is no valid UTF-8'],
    ['{"type":"enum","name":"E","symbols":["A","B"]}', '04', 'at byte 0: an enum of 2 symbols has no symbol 2'],
    ['{"type":"enum","name":"E","symbols":["A","B"]}', '01', 'at byte 0: an enum of 2 symbols has no symbol -1'],
    ['["null","int"]', 'c601', 'at byte 0: a union of 2 branches has no branch 99'],
    ['[]', '00', 'at byte 0: a union of 0 branches has no branch 0'],
    [array('"int"'), '04 02', 'at byte 0: 2 items with 1 bytes left'],
    [array('"int"'), '02 02', 'at byte 2: the payload ends within a value'],
    [array('"int"'), '03 06 02 04 00', 'at byte 4: a block ends here that claims to end at byte 5'],
    [array('"int"'), '03 0a 02 04 00', 'at byte 1: a block of 5 bytes with 3 left'],
    [array('"int"'), '03 01 02 04 00', 'at byte 1: a length of -1'],
    [array('"int"'), 'fe ff ff ff ff ff ff ff ff 01 00', 'at byte 0: 9223372036854776000 items with 1 bytes left'],
    [array('"null"'), '01 02 00', 'at byte 1: a block of 1 bytes with 1 left'],
    [record(field('f', '"int"'), field('g', '"boolean"')), '02 05', 'at byte 1, field "g": a boolean is 0 or 1, not 5'],
    [
      record(field('lines', array(record(field('tags', map('"boolean"'))).replace('"R"', '"L"')))),
      '02 02 02 61 03',
      'at byte 4, field "lines[].tags[]": a boolean is 0 or 1, not 3',
    ],
    [record(field('f', map('"int"'))), '02 02 ff', 'at byte 2, field "f[] (the key)": the text is no valid UTF-8'],
  ]
  for (const [text, hex, refused] of rows) assert.equal(message(text, hex), refused, `${text} ${hex}`)
})

test('items without bytes are bounded over all arrays of the payload', () => {
  // 10,000 and 10,001 as zigzag varints.
  assert.equal(message(array('"null"'), 'a09c01 00'), 'valid')
  assert.equal(verdict(array('"null"'), 'a29c01 00')?.reason, 'too-many-elements')
  assert.equal(verdict(array('"null"'), 'feffffff0f 00')?.reason, 'too-many-elements')
  assert.equal(verdict(array('"null"'), 'ffffffffffffffffff01 00 00')?.reason, 'too-many-elements')
  assert.equal(verdict(array(array('"null"')), '04 904e 00 944e 00 00')?.reason, 'too-many-elements')
  const walker = walkerOf(array('"null"'))
  for (let payload = 0; payload < 3; payload++) {
    walker.begin(Buffer.from('a09c0100', 'hex'), 0, 4)
    assert.equal(walker.run(100), null)
  }
  // Types that hold nothing take no time, however many they are.
  const doubled = Array.from({ length: 60 }, (_, i) => {
    const type = i === 0 ? '"null"' : `"R${i - 1}"`
    return `{"type":"record","name":"R${i}","fields":[${field('f', type)},${field('g', type)}]}`
  })
  assert.equal(message(`[${doubled.join(',')}]`, '76'), 'valid')
})

test('levels are bounded', () => {
  const list = record(field('next', '["null","R"]'))
  const nested = (levels: number) => Buffer.concat([Buffer.alloc(levels, 2), Buffer.from([0])])
  assert.equal(message(list, nested(512)), 'valid')
  assert.equal(verdict(list, nested(513))?.reason, 'too-deep')
  assert.equal(verdict(list, nested(1_000_000))?.reason, 'too-deep')
  // A record that holds itself has no value.
  assert.equal(verdict(record(field('self', '"R"')), '')?.reason, 'too-deep')
  const tree = '{"type":"record","name":"R","fields":[{"name":"of","type":{"type":"array","items":"R"}}]}'
  assert.equal(verdict(tree, Buffer.alloc(2000, 2))?.reason, 'too-deep')
})

const WRONG_UTF8 = [
  '80',
  'c0af',
  'c1bf',
  'c3',
  'e0809f',
  'e28228',
  'eda080',
  'edbfbf',
  'e282',
  'f08080af',
  'f4908080',
  'f5808080',
  'f0908d',
  'ff',
]
const RIGHT_UTF8 = ['7f', 'c280', 'dfbf', 'e0a080', 'ed9fbf', 'ee8080', 'efbfbf', 'f0908080', 'f48fbfbf']

/** The length in three bytes, and the text. */
function stringOf(text: Buffer): Buffer {
  const length = text.length * 2
  return Buffer.concat([Buffer.from([(length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14]), text])
}

test('text is UTF-8, short and long', () => {
  for (const before of [0, 1, 7, 100, 20_000, 16_383, 16_384])
    for (const [list, right] of [
      [RIGHT_UTF8, true],
      [WRONG_UTF8, false],
    ] as const)
      for (const hex of list) {
        const text = Buffer.concat([Buffer.alloc(before, 'a'), Buffer.from(hex, 'hex'), Buffer.alloc(before % 3, 'b')])
        assert.equal(verdict('"string"', stringOf(text)) === null, right, `${before} ${hex}`)
      }
  const umlauts = Buffer.from('ä'.repeat(20_000))
  assert.equal(verdict('"string"', stringOf(umlauts)), null)
})

test('a walk pauses after any number of steps, within long text too, and comes to the same verdict', () => {
  const text = record(field('list', array('"string"')), field('text', '"string"'), field('last', '["null","boolean"]'))
  const long = Buffer.from('grüße '.repeat(10_000))
  const list = Buffer.from('040261026200', 'hex')
  for (const [end, reason] of [
    ['0201', null],
    ['0202', 'bad-value'],
    ['02', 'truncated'],
  ] as const) {
    const bytes = Buffer.concat([list, stringOf(long), Buffer.from(end, 'hex')])
    const walker = walkerOf(text)
    for (const steps of [1, 2, 3, 100, 1_000_000]) {
      walker.begin(bytes, 0, bytes.length)
      let turns = 1
      let result = walker.run(steps)
      for (; result === 'more'; result = walker.run(steps)) turns++
      assert.equal(result?.reason ?? null, reason)
      // Each value is a turn, and each of the five parts of the long text.
      if (steps === 1) assert.ok(turns >= 12, String(turns))
      if (steps === 1_000_000) assert.equal(turns, 1)
      assert.deepEqual(walker.run(steps), result)
    }
  }
})

test('a program can be sent to another thread', () => {
  const program = avro.compile(avro.parse({ text: record(field('f', '["null","R"]')), dependencies: [] }, 'new'))
  const walker = new AvroWalker(structuredClone(program))
  walker.begin(Buffer.from([2, 0]), 0, 2)
  assert.equal(walker.run(100), null)
})

test('lengths of one, two and three bytes are read, negative and cut ones are refused', () => {
  for (const type of ['"string"', '"bytes"']) {
    for (const size of [0, 63, 64, 65, 8_191, 8_192, 8_193]) {
      const rest = [size * 2]
      while (rest.at(-1)! >= 128) rest.push(...[rest.pop()!].flatMap(each => [(each & 127) | 128, each >> 7]))
      assert.equal(message(type, Buffer.concat([Buffer.from(rest), Buffer.alloc(size, 'x')])), 'valid', `${size}`)
      const cut = Buffer.concat([Buffer.from(rest), Buffer.alloc(Math.max(0, size - 1), 'x')])
      if (size > 0) assert.match(message(type, cut), new RegExp(`a length of ${size} with ${size - 1} bytes left`))
    }
    assert.match(message(type, '81 01'), /a length of -65/)
    assert.match(message(type, '80'), /the payload ends within a value/)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../testing/property.ts'
import { RedisError } from './redis-error.ts'
import { type AnyReply, MalformedReply, ReplyReader } from './reply-reader.ts'

/** Returns the replies in these chunks, and the error at the end. */
function read(...chunks: readonly (Buffer | string)[]): { replies: AnyReply[]; fault: string | null } {
  const replies: AnyReply[] = []
  const reader = new ReplyReader(reply => replies.push(reply))
  try {
    for (const chunk of chunks) reader.push(Buffer.from(chunk as Buffer))
  } catch (error) {
    assert.ok(error instanceof MalformedReply)
    return { replies, fault: error.message }
  }
  return { replies, fault: null }
}

function written(reply: AnyReply): Buffer {
  if (reply === null) return Buffer.from('$-1\r\n')
  if (typeof reply === 'number') return Buffer.from(`:${reply}\r\n`)
  if (typeof reply === 'string') return Buffer.from(`+${reply}\r\n`)
  if (reply instanceof RedisError) return Buffer.from(`-${reply.message}\r\n`)
  if (Buffer.isBuffer(reply)) return Buffer.concat([Buffer.from(`$${reply.length}\r\n`), reply, Buffer.from('\r\n')])
  return Buffer.concat([Buffer.from(`*${reply.length}\r\n`), ...reply.map(written)])
}

const line = fc.string({ unit: 'binary', maxLength: 20 }).map(text => text.replace(/[\r\n]/g, ' '))
const { reply: anyReply } = fc.letrec<{ reply: AnyReply }>(tie => ({
  reply: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    fc.constant(null),
    fc.maxSafeInteger().map(number => number + 0),
    line,
    line.map(message => new RedisError(message)),
    fc.uint8Array({ maxLength: 100 }).map(bytes => Buffer.from(bytes)),
    fc.array(tie('reply'), { maxLength: 5 }),
  ),
}))

test('each kind of reply is decoded to its value', () => {
  const { replies } = read(
    '+OK\r\n+\r\n:-42\r\n:9223372036854775807\r\n$5\r\nhe\r\no\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n*1\r\n:1\r\n-OOM no\r\n',
  )
  assert.deepEqual(replies, [
    ...['OK', '', -42, 2 ** 63],
    ...[Buffer.from('he\r\no'), Buffer.alloc(0), null, null, []],
    [[1], new RedisError('OOM no')],
  ])
  assert.equal((read('-OOM no\r\n').replies[0] as RedisError).code, 'OOM')
})

test('wherever the chunks end, the replies are those that were written', () => {
  const cuts = fc.infiniteStream(fc.integer({ min: 1, max: 30 }))
  fc.assert(
    fc.property(fc.array(anyReply, { maxLength: 5 }), cuts, (replies, sizes) => {
      const whole = Buffer.concat(replies.map(written))
      const chunks: Buffer[] = []
      for (let at = 0; at < whole.length; at += chunks.at(-1)!.length)
        chunks.push(whole.subarray(at, at + sizes.next().value))
      assert.deepEqual(read(whole), { replies, fault: null })
      assert.deepEqual(read(...chunks), { replies, fault: null })
    }),
  )
})

test('wherever the chunks end, the same bytes are refused with the same message', () => {
  const symbols = fc.constantFrom(...'+-:$*019\r\nx'.split(''), '\r\n', '$3\r\n', '*2\r\n')
  fc.assert(
    fc.property(fc.array(symbols, { maxLength: 30 }), parts => {
      const whole = Buffer.from(parts.join(''))
      assert.deepEqual(read(...Array.from(whole, (_, at) => whole.subarray(at, at + 1))), read(whole))
    }),
    { numRuns: 1000 },
  )
})

test('only the first `end` bytes of a chunk are read, and the chunk may change afterwards', () => {
  const replies: AnyReply[] = []
  const reader = new ReplyReader(reply => replies.push(reply))
  const memory = Buffer.from('$3\r\nabc\r\n+O:1\r\n:2\r\n')
  reader.push(memory, 11)
  assert.deepEqual(replies, [Buffer.from('abc')])
  memory.fill('z')
  memory.write('K\r\n')
  reader.push(memory, 3)
  assert.deepEqual(replies, [Buffer.from('abc'), 'OK'])
})

test('the bytes of a reply are in memory without other data', () => {
  for (const length of [1, 28, 64, 65, 1000, 3_000_000]) {
    const bytes = written(Buffer.alloc(length, 'x'))
    const half = Math.ceil(bytes.length / 2)
    for (const { replies } of [read(bytes), read(bytes.subarray(0, half), bytes.subarray(half))]) {
      const [reply] = replies as [Buffer]
      assert.deepEqual([reply.byteOffset, reply.buffer.byteLength], [0, length])
      assert.ok(reply.equals(Buffer.alloc(length, 'x')))
    }
  }
})

test('malformed bytes are refused with a message that shows them', () => {
  const faults: readonly (readonly [bytes: string, fault: RegExp])[] = [
    ['HTTP/1.1 400 Bad Request\r\n', /a line begins with "HTTP\/1.1 400 Bad Request"/],
    ['\r\n', /a line begins with ""/],
    ['~1\r\n', /a line begins with "~1"/],
    ['+OK\n', /does not end with/],
    ['\n', /does not end with/],
    [':\r\n', /"" stands for a number/],
    [':1x\r\n', /"1x" stands for a number/],
    [':--1\r\n', /"--1" stands for a number/],
    [`:${'1'.repeat(21)}\r\n`, /stands for a number/],
    ['$-2\r\n', /a bulk string has -2 bytes/],
    ['$536870913\r\n', /a bulk string has 536870913 bytes/],
    ['*-2\r\n', /an array has -2 elements/],
    ['*2147483648\r\n', /an array has 2147483648 elements/],
    ['$1\r\nab\r\n', /1 bytes were announced, and more came/],
    ['*1\r\n'.repeat(33), /nested more than 32 deep/],
    [`+${'x'.repeat(65_536)}`, /a line is longer than 65536 bytes/],
  ]
  for (const [bytes, fault] of faults) assert.match(read(`:1\r\n${bytes}`).fault ?? 'none', fault, bytes.slice(0, 40))
})

test('an announced length allocates little memory until its bytes arrive', () => {
  const before = process.memoryUsage().arrayBuffers
  const readers = Array.from({ length: 20 }, () => new ReplyReader(() => assert.fail('nothing is complete')))
  for (const reader of readers) reader.push(Buffer.from('*2147483647\r\n$536870912\r\nabc'))
  const after = process.memoryUsage().arrayBuffers
  assert.ok(after - before < 64 * 1024 * 1024, `${after - before} bytes for ${readers.length} lengths`)
})

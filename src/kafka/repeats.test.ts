import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeAgain, type Saying } from './repeats.ts'

/** Decodes frames whose body begins after the first two bytes, and notes which bodies were decoded. */
function world() {
  const saying: Saying = { last: null }
  const decoded: string[] = []
  const say = (text: string, { by = 'Fetch', version = 4 } = {}) => {
    const frame = Buffer.from(text)
    return decodeAgain(saying, by, version, frame, 2, () => {
      const body = frame.toString('latin1', 2)
      if (body.startsWith('!')) throw new Error('malformed')
      decoded.push(body)
      return { body }
    })
  }
  return { saying, decoded, say }
}

test('the same body gives the same value, whatever header is before it', () => {
  const { decoded, say } = world()
  const first = say('01abc')
  assert.equal(say('02abc'), first)
  assert.deepEqual([first, decoded], [{ body: 'abc' }, ['abc']])
})

test('a body that differs anywhere, a longer and a shorter one, and another version or API are decoded', () => {
  const { decoded, say } = world()
  for (const body of ['abc', 'abd', 'xbd', 'xb', 'xbdd', '']) say(`00${body}`)
  say('00', { version: 5 })
  say('00', { version: 5, by: 'Metadata' })
  say('00', { version: 5, by: 'Metadata' })
  assert.deepEqual(decoded, ['abc', 'abd', 'xbd', 'xb', 'xbdd', '', '', ''])
})

test('only the last body is kept, and no malformed or long body', () => {
  const { saying, decoded, say } = world()
  for (const body of ['a', 'b', 'a']) say(`00${body}`)
  assert.deepEqual(decoded, ['a', 'b', 'a'])
  assert.throws(() => say('00!'), /malformed/)
  assert.equal(saying.last, null)
  const long = 'x'.repeat(20 * 1024 + 1)
  say(`00${long}`)
  assert.equal(saying.last, null)
})

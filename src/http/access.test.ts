import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkBodyType, credentialsOf } from './access.ts'

const callerWith = (headers: Readonly<Record<string, string>>) => ({ header: (name: string) => headers[name] })
const typeCode = (type: string) =>
  checkBodyType({ method: 'POST' }, callerWith({ 'content-type': type, 'content-length': '2' }), {
    types: ['application/json'],
  })?.code ?? null

/** With a time that grows with the square of the length, a header of this length takes a quarter of an hour. */
const LONG = 1_000_000

test('the Authorization header has a scheme in any case, and a text', () => {
  const read = (authorization: string) => credentialsOf(callerWith({ authorization }))
  assert.equal(credentialsOf(callerWith({})), null)
  for (const empty of ['', ' ', '\t']) assert.equal(read(empty), null)
  assert.deepEqual(read('Bearer'), { scheme: 'bearer', text: '' })
  for (const header of ['Bearer a b', 'BEARER   a b', ' bearer\ta b ']) {
    assert.deepEqual(read(header), { scheme: 'bearer', text: 'a b' })
  }
})

test('a body may name its charset', () => {
  const good = ['', ';', ' ;', '; charset=utf-8', ';charset = "UTF-8" ;', '; charset=utf-8 ', ' ; ']
  for (const end of good) assert.equal(typeCode(`application/json${end}`), null, end)
  for (const end of [' x', '; charset=latin1', ';;', '; charset=utf-8 x', '; charset=utf-8; a=b'])
    assert.equal(typeCode(`application/json${end}`), 'UNSUPPORTED_MEDIA_TYPE', end)
})

test('the time to read a header grows with its length, not with the square', () => {
  const spaces = ' '.repeat(LONG)
  assert.deepEqual(credentialsOf(callerWith({ authorization: `Bearer a${spaces}b${spaces}` })), {
    ...{ scheme: 'bearer', text: `a${spaces}b` },
  })
  for (const end of [`; charset=utf-8${spaces}x`, `; charset=utf-8${spaces};${spaces}x`, `${spaces}x`, `;${spaces}x`])
    assert.equal(typeCode(`application/json${end}`), 'UNSUPPORTED_MEDIA_TYPE')
})

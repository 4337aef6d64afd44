import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { highlight } from './highlight.ts'

const shown = (text: string) => highlight(text).map(({ text, kind }) => `${kind ?? '-'} ${text}`)

test('each kind of token is named', () => {
  assert.deepEqual(shown('{"a" : "b\\"", "c":[-1.5e3,true,null]}'), [
    ...['punctuation {', 'key "a"', '-  ', 'punctuation :', '-  ', 'string "b\\""', 'punctuation ,', '-  '],
    ...['key "c"', 'punctuation :', 'punctuation [', 'number -1.5e3', 'punctuation ,', 'word true', 'punctuation ,'],
    ...['word null', 'punctuation ]', 'punctuation }'],
  ])
})

test('text that ends in the middle of a value keeps its end', () => {
  assert.deepEqual(shown('{"a":"bc'), ['punctuation {', 'key "a"', 'punctuation :', 'string "bc'])
  assert.deepEqual(shown('"a\\'), ['string "a\\'])
  assert.deepEqual(shown('[tru'), ['punctuation [', '- tru'])
})

test('the pieces together are the text', () => {
  const piece = fc.constantFrom('{', '}', '"', '\\', 'true', 'x', '1', '-', ' ', '\n', ':', ',', '\u{1f600}', '\ud800')
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json(),
        fc.string(),
        fc.array(piece).map(all => all.join('')),
      ),
      text => {
        const tokens = highlight(text)
        assert.equal(tokens.map(token => token.text).join(''), text)
        assert.ok(tokens.every(token => token.text !== ''))
      },
    ),
  )
})

test('every text between quotes before a colon is a key, and JSON has no text without a kind', () => {
  fc.assert(
    fc.property(fc.json(), json => {
      const tokens = highlight(json)
      const keys = tokens.filter(token => token.kind === 'key').length
      let members = 0
      JSON.parse(json, function (name) {
        if (!Array.isArray(this) && name !== '') members++
        return null
      })
      // JSON.parse keeps one of equal keys, leaves out __proto__, and has the empty name for the whole too.
      assert.ok(keys >= members, `${keys} ${members}`)
      assert.ok(tokens.every(token => token.kind !== null || token.text.trim() === ''))
    }),
  )
})

test('a long text without tokens is highlighted in time', () => {
  assert.equal(highlight('x'.repeat(1_000_000)).length, 1)
  assert.equal(highlight('x:'.repeat(200_000)).length, 400_000)
  // Work that grew with the square of the length would not end within the limit of the test.
})

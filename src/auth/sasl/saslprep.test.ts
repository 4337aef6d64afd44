import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { saslprep } from './saslprep.ts'

test('the examples of RFC 4013 are prepared as it says', () => {
  for (const [text, prepared] of [
    ['I\u00adX', 'IX'],
    ['user', 'user'],
    ['USER', 'USER'],
    ['\u00aa', 'a'],
    ['\u2168', 'IX'],
    ['\u0007', null],
    ['\u0627\u0031', null],
  ] as const)
    assert.equal(saslprep(text), prepared, JSON.stringify(text))
})

test('spaces become the ASCII space, marks that cannot be seen go, and forms of one letter become the letter', () => {
  for (const [text, prepared] of [
    ['', ''],
    ['a\u00a0b\u1680c\u3000d', 'a b c d'],
    ['a\u200bb\u034fc\u1806d\u200de\ufe0ff\ufeff', 'abcdef'],
    ['ａｂｃ１', 'abc1'],
    ['e\u0301', 'é'],
    ['ﬁ', 'fi'],
    ['\u{1f600}', '\u{1f600}'],
  ] as const)
    assert.equal(saslprep(text), prepared, JSON.stringify(text))
})

test('each table of prohibited characters refuses a text', () => {
  const characters =
    '\0 \u007f \u0085 \u061c \u200e \u2028 \u2029 \u206a \ue000 \ufdd0 \u{1ffff} \ud800 \ufffc \ufffd \u2ff0 \u202e'
  for (const character of [...characters.split(' '), '\u{e0041}', '\u{10fffd}'])
    assert.equal(saslprep(`a${character}b`), null, JSON.stringify(character))
})

test('a text is written in one direction, and from right to left at both ends', () => {
  for (const text of ['\u05d0', '\u05d0\u05d1', '\u05d0 1 \u05d1', '\u0627\u0640\u0628', '\u0710\u0712', '\u0780'])
    assert.equal(saslprep(text), text, JSON.stringify(text))
  for (const text of ['\u05d0a\u05d1', 'a\u05d0', '\u05d0a', '\u05d01', '1\u05d0', '\u05d0\u0430\u05d1', '!\u0627'])
    assert.equal(saslprep(text), null, JSON.stringify(text))
})

test('a prepared text does not change when it is prepared again', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 0x10ffff })), codes => {
      const prepared = saslprep(String.fromCodePoint(...codes))
      if (prepared !== null) assert.equal(saslprep(prepared), prepared)
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { hasHidden, isTyped, visiblePieces } from './visible.ts'

const marked = (text: string, isMultiline = false) =>
  visiblePieces(text, isMultiline)
    .map(piece => (piece.isMark ? `[${piece.label}]` : piece.text))
    .join('')

test('characters that cannot be seen become marks', () => {
  assert.equal(marked('a\0b\x1b[31m\x7f\x85'), 'a[NUL]b[ESC][31m[DEL][NEL]')
  assert.equal(marked('user\u202Egnp.exe\u2066x\u2069\u200E'), 'user[RLO]gnp.exe[LRI]x[PDI][LRM]')
  assert.equal(marked('a\u200Bb\u200Cc\u2060d\uFEFFe\u00ADf'), 'a[ZWSP]b[ZWNJ]c[WJ]d[BOM]e[SHY]f')
  assert.equal(marked('a\u2028b\u2029c'), 'a[LSEP]b[PSEP]c')
  assert.equal(marked('x\ud800y\udc00'), 'x[U+D800]y[U+DC00]')
  assert.equal(marked('\u115f\u3164\u034f\u{e0041}'), '[U+115F][U+3164][U+034F][U+E0041]')
  assert.equal(visiblePieces('\u202E')[0]!.name, 'U+202E right-to-left override')
  assert.equal(visiblePieces('\ud800')[0]!.name, 'U+D800 half of a character')
  assert.equal(visiblePieces('\x02')[0]!.name, 'U+0002 start of text')
  assert.equal(visiblePieces('\x90')[0]!.name, 'U+0090 invisible character')
})

test('text of all scripts and whole emoji stay as they are', () => {
  for (const text of [
    'orders',
    'Größe',
    '日本語',
    'שלום',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '❤\ufe0f',
    '\u{1f44d}\u{1f3fd}\u200d\u{1f4bb}',
    '\u0600',
  ])
    assert.equal(marked(text), text)
  assert.deepEqual(visiblePieces(''), [])
})

test('a joiner or selector that joins nothing is a mark', () => {
  assert.equal(marked('a\u200db'), 'a[ZWJ]b')
  assert.equal(marked('\u{1f468}\u200d'), '\u{1f468}[ZWJ]')
  assert.equal(marked('a\ufe0f'), 'a[U+FE0F]')
})

test('a block keeps its lines and tabs, and marks a carriage return that ends no line', () => {
  assert.equal(marked('a\tb\r\nc\n', true), 'a\tb\r\nc\n')
  assert.equal(marked('a\rb\0', true), 'a[CR]b[NUL]')
  assert.equal(marked('a\tb\r\nc', false), 'a[TAB]b[CR][LF]c')
})

test('the pieces together are the text, and there are marks just if something is hidden', () => {
  const unit = fc
    .oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0x2000, max: 0x206f }))
    .map(code => String.fromCharCode(code))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(unit).map(all => all.join('')),
      ),
      fc.boolean(),
      (text, isMultiline) => {
        const pieces = visiblePieces(text, isMultiline)
        assert.equal(pieces.map(piece => piece.text).join(''), text)
        assert.ok(pieces.every(piece => piece.text !== ''))
        if (!isMultiline)
          assert.equal(
            pieces.some(piece => piece.isMark),
            hasHidden(text),
          )
      },
    ),
    { numRuns: 1_000 },
  )
})

test('a name is typed as it is, or with the numbers of its hidden characters', () => {
  assert.ok(isTyped('orders', 'orders'))
  for (const typed of ['', 'order', 'Orders', 'orders ']) assert.ok(!isTyped(typed, 'orders'))
  for (const [name, spelled] of [
    ['a\u200Bb', 'aU+200Bb'],
    ['\u202Eevil', 'U+202Eevil'],
    ['tab\tname', 'tabU+0009name'],
    ['two\nlines\0', 'twoU+000AlinesU+0000'],
    ['tag\u{E0041}', 'tagU+E0041'],
  ] as const) {
    assert.ok(isTyped(spelled, name))
    assert.ok(isTyped(name, name))
    assert.ok(!isTyped(name.replaceAll(/[^a-z]/g, ''), name))
  }
})

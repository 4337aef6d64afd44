import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partOf } from './long-text.ts'

interface Body {
  readonly part: string
  readonly next: number | null
}

/** Reads a text to its end. */
function read(text: string, maxBytes: number): readonly Body[] {
  const parts: Body[] = []
  for (let from: number | null = 0; from !== null; ) {
    const { body } = partOf(text, from, maxBytes, (part, next) => ({ part, next }))
    parts.push(body as Body)
    from = (body as Body).next
  }
  return parts
}

test('the parts of a text are the text, and each is as large as fits', () => {
  const text = `${'plain "quoted" \u0001 𝄞é'.repeat(400)}`
  for (const maxBytes of [100, 1_024, 65_536]) {
    const parts = read(text, maxBytes)
    assert.equal(parts.map(({ part }) => part).join(''), text)
    for (const [at, body] of parts.entries()) {
      const bytes = Buffer.byteLength(JSON.stringify({ untrusted_data: body }))
      assert.ok(bytes <= maxBytes, `${bytes} bytes`)
      assert.ok(at === parts.length - 1 || bytes > maxBytes - 10, `${bytes} of ${maxBytes} bytes`)
      assert.doesNotMatch(body.part, /[\uD800-\uDBFF]$|^[\uDC00-\uDFFF]/)
    }
  }
  assert.deepEqual(read('', 100), [{ part: '', next: null }])
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const css = readFileSync(new URL('base.css', import.meta.url), 'utf8')
const THEMES = ['light', 'dark'] as const

/** Returns the two colours of a role. */
function colorsOf(role: string): readonly [light: string, dark: string] {
  const found = new RegExp(`--color-${role}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\);`).exec(css)
  assert.ok(found !== null, `base.css has no colour ${role}`)
  return [found[1]!, found[2]!]
}

/** The contrast of two colours, from 1 to 21 (WCAG 2.2, "contrast ratio"). */
function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminance(color: string): number {
  const [red, green, blue] = [1, 3, 5].map(at => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

test('the contrast of black and white is 21', () => {
  assert.equal(contrast('#000000', '#ffffff'), 21)
  assert.ok(contrast('#777777', '#ffffff') < 4.5)
})

test('the colours of JSON can be read on every ground of a payload, in both themes', () => {
  const inks = ['text', 'muted', 'syntax-key', 'syntax-string', 'syntax-number', 'syntax-word']
  // A block and the editor, a mark, a selection, a match of the search.
  const grounds = ['surface', 'raised', 'info-soft', 'warn-soft']
  for (const [theme, name] of THEMES.entries())
    for (const ink of inks)
      for (const ground of grounds) {
        const ratio = contrast(colorsOf(ink)[theme]!, colorsOf(ground)[theme]!)
        assert.ok(ratio >= 4.5, `${ink} on ${ground} in the ${name} theme: ${ratio.toFixed(2)}`)
      }
})

// Checks that the guide of the console names each page that has keys, with its keys.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { pages } from '../src/api/pages.ts'

const guide = readFileSync(new URL('../docs/guides/console.md', import.meta.url), 'utf8')

test('the guide of the console names each page with its keys', () => {
  for (const { label, shortcut } of Object.values(pages)) {
    if (shortcut !== null) assert.ok(guide.includes(`| ${label} | \`g ${shortcut}\` |`), `${label}, g ${shortcut}`)
  }
})

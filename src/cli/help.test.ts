import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fullKey, keys } from '../settings/settings.ts'
import { helpText } from './help.ts'

test('the help names every setting', () => {
  const text = helpText()
  for (const key of keys) assert(text.includes(`--${fullKey(key)}`), key)
  assert(text.startsWith('Usage: ketch'))
  assert(text.endsWith('\n'))
})

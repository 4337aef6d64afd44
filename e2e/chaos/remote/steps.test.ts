import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { LIMITS, PLACES, STEP_NAMES } from './steps.ts'

const ROOT = new URL('../../../', import.meta.url)

test('each step of the remote tier is at one place in the broker', () => {
  for (const { file, text } of [...PLACES, ...LIMITS]) {
    const found = readFileSync(new URL(file, ROOT), 'utf8').split(text).length - 1
    assert.equal(found, 1, `${file}: ${text}`)
  }
  assert.equal(new Set(STEP_NAMES).size, STEP_NAMES.length)
})

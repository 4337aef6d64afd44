// Checks that docs/security-checklist.md names existing tests for each requirement. If a test is renamed or removed,
// its requirement must not stay without a test.

import { strict as assert } from 'node:assert'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { assertNamesTests } from './named-tests.ts'

const page = readFileSync(new URL('../docs/security-checklist.md', import.meta.url), 'utf8')
const rows = page.split('\n').filter(line => line.startsWith('| ') && !/^\| (Requirement|---)/.test(line))

test('the security checklist has rows', () => {
  assert.ok(rows.length > 60)
})

for (const row of rows)
  test(`held: ${row.split(' | ')[0]!.slice(2)}`, () => {
    assertNamesTests(row)
  })

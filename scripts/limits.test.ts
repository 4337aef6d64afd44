// Checks docs/reference/limits.md: each row names a test, and every test, setting and error that the page names
// exists.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { errors } from '../src/protocol/errors.ts'
import { fullKey, type Key, sections } from '../src/settings/settings.ts'
import { assertNamesTests } from './named-tests.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const page = read('docs/reference/limits.md')

test('each limit of the reference names an existing test', () => {
  const rows = page.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('| thing'))
  assert(rows.length > 40)
  for (const row of rows) {
    assertNamesTests(row)
  }
})

test('each setting and error that the limits name exists', () => {
  const keys = new Set(sections.flatMap(({ rows }) => Object.keys(rows).map(key => fullKey(key as Key))))
  for (const [, key] of page.matchAll(/`(svc\.[a-z.-]+)`/g)) assert(keys.has(key!), `no setting ${key}`)
  const names = new Set<string>(errors.map(({ name }) => name))
  for (const [name] of page.matchAll(/\b[A-Z]+(_[A-Z]+)+\b/g)) assert(names.has(name), `no error ${name}`)
})

// docs/reference/limits.md names a test for each bound: it names no test, setting or error that is not there, and no row is without one.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { errors } from '../src/protocol/errors.ts'
import { fullKey, type Key, sections } from '../src/settings/settings.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const page = read('docs/reference/limits.md')

/** The test that the last cell of a row names. */
const NAMED = /`([^`]+\.test\.ts)`: "([^"]+)"/g

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** The titles in a test file; what a template fills in may be anything. */
function titlesOf(path: string): readonly RegExp[] {
  return [...read(path).matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)].map(([, quote, title]) => {
    const parts = quote === '`' ? title!.split(/\$\{[^}]*\}/) : [title!]
    return new RegExp(`^${parts.map(part => escaped(part.replace(/\\(.)/g, '$1'))).join('.+')}$`)
  })
}

test('each limit of the reference names a test that is there', () => {
  const rows = page.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('| thing'))
  assert(rows.length > 40)
  for (const row of rows) {
    const named = [...row.split(' | ').at(-1)!.matchAll(NAMED)]
    assert.notEqual(named.length, 0, `no test is named: ${row}`)
    for (const [, path, title] of named) {
      const isThere = titlesOf(path!).some(each => each.test(title!))
      assert(isThere, `${path} has no test "${title}"`)
    }
  }
})

test('each setting and error that the limits name is there', () => {
  const keys = new Set(sections.flatMap(({ rows }) => Object.keys(rows).map(key => fullKey(key as Key))))
  for (const [, key] of page.matchAll(/`(svc\.[a-z.-]+)`/g)) assert(keys.has(key!), `no setting ${key}`)
  const names = new Set<string>(errors.map(({ name }) => name))
  for (const [name] of page.matchAll(/\b[A-Z]+(_[A-Z]+)+\b/g)) assert(names.has(name), `no error ${name}`)
})

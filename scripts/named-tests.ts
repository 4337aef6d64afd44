// Pages that name the tests which hold their rows: `path`: "title". For the tests of those pages.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A test that the last cell of a row names. */
const NAMED = /`([^`]+\.test\.ts)`: "([^"]+)"/g

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Fails unless the last cell of a row of a table names at least one test, and each one that it names is there. */
export function assertNamesTests(row: string): void {
  const named = [...row.split(' | ').at(-1)!.matchAll(NAMED)]
  assert.notEqual(named.length, 0, `no test is named: ${row}`)
  for (const [, path, title] of named) {
    const isThere = titlesOf(path!).some(each => each.test(title!))
    assert(isThere, `${path} has no test "${title}"`)
  }
}

/** The titles in a test file. A placeholder of a template may stand for anything, itself included. */
function titlesOf(path: string): readonly RegExp[] {
  const source = readFileSync(join(ROOT, path), 'utf8')
  return [...source.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)].map(([, quote, title]) => {
    const parts = quote === '`' ? title!.split(/\$\{[^}]*\}/) : [title!]
    return new RegExp(`^${parts.map(part => escaped(part.replace(/\\(.)/g, '$1'))).join('.+')}$`)
  })
}

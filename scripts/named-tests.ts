// For the tests of pages whose table rows name the tests that check them, as `path`: "title".

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A test that the last cell of a row names. */
const NAMED = /`([^`]+\.test\.ts)`: "([^"]+)"/g

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Throws unless the last cell of a table row names at least one test, and every test that it names exists. */
export function assertNamesTests(row: string): void {
  const named = [...row.split(' | ').at(-1)!.matchAll(NAMED)]
  assert.notEqual(named.length, 0, `no test is named: ${row}`)
  for (const [, path, title] of named) assertHasTest(path!, title!)
}

/** Throws unless the test file has a test with this title. */
export function assertHasTest(path: string, title: string): void {
  const isThere = titlesOf(path).some(each => each.test(title))
  assert(isThere, `${path} has no test "${title}"`)
}

/**
 * Returns patterns for the titles in a test file. A placeholder of a template matches any text, also its own source.
 */
function titlesOf(path: string): readonly RegExp[] {
  const source = readFileSync(join(ROOT, path), 'utf8')
  return [...source.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)].map(([, quote, title]) => {
    const parts = quote === '`' ? title!.split(/\$\{[^}]*\}/) : [title!]
    return new RegExp(`^${parts.map(part => escaped(part.replace(/\\(.)/g, '$1'))).join('.+')}$`)
  })
}

// Checks docs/reference/coverage.md: its sections are those of the specification, no cell is empty, and every row names
// tests that exist.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { assertHasTest } from './named-tests.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const page = readFileSync(join(ROOT, 'docs/reference/coverage.md'), 'utf8')

/** The sections of the page, in the order of the specification. */
const SECTIONS = [
  'The service',
  'Names',
  'Records',
  'ACL rules',
  'SASL credentials',
  'Connection context',
  'Console users and sessions',
  'Topics and patterns',
  'Consumer groups',
  'Offload jobs',
  'Metrics snapshot',
  'Schema registry resources',
  'Settings: sources and grammar',
  'Settings: general',
  'Settings: admin',
  'Settings: single sign-on',
  'Settings: broker',
  'Settings: SASL',
  'Settings: agent tools and console',
  'Settings: primary key-value store',
  'Settings: schema registry',
  'Settings: local storage tier',
  'Settings: storage store',
  'Settings: remote tier and worker',
  'States: offload jobs',
  'States: write circuit breaker',
  'States: reading of connections',
  'States: sessions of OAUTHBEARER',
  'States: lockout of the sign-in',
  'States: console sessions',
  'Kafka APIs',
  'Admin HTTP API',
  'Actuator',
  'Metrics',
  'Metrics history',
  'Web console',
  'Authentication: SASL',
  'Authentication: SCRAM-SHA-256',
  'Authentication: PLAIN',
  'Authentication: OAUTHBEARER',
  'Authentication: GSSAPI',
  'Authorization',
  'Tenants',
  'Console and admin API: who may do what',
  'Events',
  'Errors',
  'Limits',
  'Versions',
  'Deviations',
]

/** A test file, or a journey through the console, with or without the title of a test. */
const REFERENCE = /`([^`]+\.test\.ts|e2e\/console\/journeys\/[a-z-]+\.ts)`(?:: "([^"]+)")?/g

/** Returns the cells of each row, by section. */
function tablesOf(text: string): ReadonlyMap<string, readonly (readonly string[])[]> {
  const [, ...sections] = text.split(/^## /m)
  return new Map(
    sections.map(section => {
      const [heading, ...lines] = section.split('\n')
      const rows = lines.filter(line => line.startsWith('|') && !/^\| (statement|---) /.test(line))
      return [heading!, rows.map(row => row.replace(/^\|\s*|\s*\|$/g, '').split(/\s+\|\s+/))]
    }),
  )
}

const tables = tablesOf(page)
const statements = [...tables].flatMap(([heading, rows]) => (heading === 'Deviations' ? [] : rows))

test('the coverage has every section, in order, with rows', () => {
  assert.deepEqual([...tables.keys()], SECTIONS)
  for (const [heading, rows] of tables) assert.notEqual(rows.length, 0, `${heading} has no rows`)
  assert(statements.length > 600)
})

test('no cell of the coverage is empty, and no statement is there twice in a section', () => {
  for (const [heading, rows] of tables) {
    for (const row of rows) {
      assert.equal(row.length, heading === 'Deviations' ? 3 : 2, `${heading}: ${row.join(' | ')}`)
      assert(
        row.every(cell => /\S/.test(cell)),
        `${heading}: ${row.join(' | ')}`,
      )
    }
    const said = rows.map(([statement]) => statement)
    assert.deepEqual(said, [...new Set(said)])
  }
})

test('every test that the coverage names exists', () => {
  for (const [statement, shownBy] of statements) {
    const named = [...shownBy!.matchAll(REFERENCE)]
    assert.notEqual(named.length, 0, `no test is named: ${statement}`)
    assert.match(shownBy!.replaceAll(REFERENCE, ''), /^(; )*$/, statement)
    for (const [, path, title] of named) {
      assert(existsSync(join(ROOT, path!)), `${path} does not exist: ${statement}`)
      if (title !== undefined) assertHasTest(path!, title)
    }
  }
})

test('every deviation links to the page that gives its reason', () => {
  for (const [statement, , why] of tables.get('Deviations')!) assert.match(why!, /\]\([^)]+\)/, statement)
})

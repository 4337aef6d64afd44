// Compares pairs of schemas with the verdicts of Confluent's own tables: `npm run suite:confluent-pairs`. The tables
// are test resources of confluentinc/schema-registry on GitHub, whose licence keeps them out of this tree: the command
// takes them at the commit below into .cache/, or from the path or URL of `--from`.
//
// It ends with status 1 if one verdict differs.

import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Difference, Policy } from '../../src/registry/format.ts'
import { jsonSchema } from '../../src/registry/json/json-schema.ts'
import { changes } from '../../src/registry/protobuf/compare.ts'
import { protobuf } from '../../src/registry/protobuf/protobuf.ts'
import { isWellKnown } from '../../src/registry/protobuf/well-known.ts'
import { CACHE } from '../../testing/cache.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { runStep } from '../suites/slice.ts'

const COMMIT = '794611bd86d1ce0422581269e2b13a2ab010c7fb'
const SOURCE = join(CACHE, `confluent-pairs-${COMMIT.slice(0, 12)}`)
const JSON_TABLES = ['diff-schema-examples', 'diff-combined-schema-examples'].flatMap(name => [name, `${name}-2020-12`])
const PROTOBUF_TABLE = 'diff-schema-examples'

/** A row of a table. The schemas are JSON, or the text or file of a Protobuf schema. */
interface Pair {
  readonly description: string
  readonly original_schema: unknown
  readonly update_schema: unknown
  readonly original_dependencies?: readonly Dependency[]
  readonly update_dependencies?: readonly Dependency[]
  readonly compatible: boolean
  /** Under the policy LENIENT; as `compatible` if it is left out. */
  readonly compatible_lenient?: boolean
  /** `TYPE path`, whether the change is compatible or not. */
  readonly changes: readonly string[]
}

interface Dependency {
  readonly name: string
  readonly dependency?: string
}

interface Tally {
  readonly table: string
  pairs: number
  verdicts: number
  /** Pairs with the same verdict whose changes have the types and places of the table. */
  changes: number
}

const { values } = parseArgs({
  options: { from: { type: 'string', default: 'https://github.com/confluentinc/schema-registry.git' } },
})
const resources = (provider: string) => join(SOURCE, provider, 'src', 'test', 'resources')
const JSON_FOLDER = resources('json-schema-provider')
const PROTOBUF_FOLDER = resources('protobuf-provider')

if (!existsSync(join(PROTOBUF_FOLDER, `${PROTOBUF_TABLE}.json`))) {
  rmSync(SOURCE, { recursive: true, force: true })
  mkdirSync(CACHE, { recursive: true })
  runStep('git', ['clone', '--quiet', '--no-checkout', '--filter=blob:none', values.from, SOURCE], CACHE)
  runStep(
    'git',
    ['checkout', '--quiet', COMMIT, '--', ...['json-schema', 'protobuf'].map(name => `${name}-provider/src/test`)],
    SOURCE,
  )
}

const json = JSON_TABLES.flatMap(table => [runJson(table, 'STRICT'), runJson(table, 'LENIENT')])
const proto = runProtobuf()
const all = [...json, proto]
for (const each of all) console.log(`${each.table}: ${each.verdicts} of ${each.pairs} verdicts`)
process.exitCode = all.every(({ pairs, verdicts }) => pairs > 0 && verdicts === pairs) ? 0 : 1
keepResults()

function runJson(table: string, policy: Policy): Tally {
  const tally: Tally = { table: `JSON Schema, ${table}, ${policy}`, pairs: 0, verdicts: 0, changes: 0 }
  const parse = (schema: unknown) => jsonSchema.parse({ text: JSON.stringify(schema), dependencies: [] }, 'stored')
  for (const pair of pairsOf(JSON_FOLDER, table)) {
    const found = jsonSchema.compare(parse(pair.update_schema), parse(pair.original_schema), policy)
    const expected = policy === 'STRICT' ? pair.compatible : (pair.compatible_lenient ?? pair.compatible)
    // The table has every change of a pair; a comparison of ours reports the incompatible ones.
    const known = new Set(pair.changes.map(withoutSlash))
    judge(tally, pair, expected, found, expected || found.every(each => known.has(textOf(each))))
  }
  return tally
}

function runProtobuf(): Tally {
  const tally: Tally = { table: `Protobuf, ${PROTOBUF_TABLE}`, pairs: 0, verdicts: 0, changes: 0 }
  const textOr = (schema: string) =>
    schema.endsWith('.proto') ? readFileSync(join(PROTOBUF_FOLDER, schema), 'utf8') : schema
  const parse = (schema: unknown, dependencies: readonly Dependency[] = []) =>
    protobuf.parse(
      {
        text: textOr(schema as string),
        dependencies: dependencies
          .filter(({ name }) => !isWellKnown(name))
          .map(({ name, dependency }) => ({ name, text: dependency ?? textOr(name) })),
      },
      'stored',
    )
  for (const pair of pairsOf(PROTOBUF_FOLDER, PROTOBUF_TABLE)) {
    const original = parse(pair.original_schema, pair.original_dependencies)
    const update = parse(pair.update_schema, pair.update_dependencies)
    const found = changes(original, update).map(textOf).sort()
    const isSame = JSON.stringify(found) === JSON.stringify([...pair.changes].sort())
    judge(tally, pair, pair.compatible, protobuf.compare(update, original, 'STRICT'), isSame)
  }
  return tally
}

function pairsOf(folder: string, table: string): readonly Pair[] {
  // The tables have commas behind last members.
  return JSON.parse(readFileSync(join(folder, `${table}.json`), 'utf8').replace(/,(\s*[\]}])/g, '$1'))
}

function judge(
  tally: Tally,
  { description }: Pair,
  expected: boolean,
  found: readonly Difference[],
  isSame: boolean,
): void {
  tally.pairs++
  if ((found.length === 0) === expected) {
    tally.verdicts++
    if (isSame) tally.changes++
  } else {
    console.log(`${tally.table}: "${description}": ${expected ? found.map(textOf).join(', ') : 'nothing found'}`)
  }
}

function textOf({ type, path }: { readonly type: string; readonly path: string }): string {
  return `${type} ${path}`
}

/** The root of a JSON schema is `#/` in some rows and `#` in others. */
function withoutSlash(change: string): string {
  return change.replace(/#\/$/, '#')
}

function keepResults(): void {
  const sum = (tallies: readonly Tally[]) => tallies.reduce((total, { pairs }) => total + pairs, 0)
  const agreed = (tallies: readonly Tally[]) => tallies.reduce((total, { verdicts }) => total + verdicts, 0)
  const strict = json.filter(({ table }) => table.endsWith('STRICT'))
  const summary = `The verdict is the same for ${agreed(strict)} of ${sum(strict)} pairs of JSON schemas and for ${agreed([proto])} of ${sum([proto])} pairs of Protobuf schemas.`
  console.log(summary)
  keepFindings('confluent-pairs', {
    title: "Confluent's registry: its tables of compatible schemas",
    order: 54,
    command: 'npm run suite:confluent-pairs',
    text: [
      `Confluent tests its registry (commit ${COMMIT.slice(0, 12)}) with tables of pairs of schemas: whether the second may follow the first, and what changed. Their licence keeps the tables out of this project, so the command fetches them.`,
      summary,
    ],
    tables: [
      {
        caption: null,
        head: ['table', 'pairs', 'same verdict', 'and same changes'],
        rows: all.map(each => [each.table, ...[each.pairs, each.verdicts, each.changes].map(String)]),
      },
    ],
  })
}

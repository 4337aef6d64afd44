// 5,000 pairs of random Avro schemas, of which one came out of the other by changes that people make, as Confluent's
// AvroSchema and Apache Avro see them: which are schemas, their canonical and normalized texts, and whether one reads
// the other. The differences that are meant have a row each in DEPARTURES.

import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { seededRandom } from '../../src/base/random.ts'
import { avro } from '../../src/registry/avro/avro.ts'
import { InvalidSchema, type Strictness } from '../../src/registry/format.ts'
import { changed } from '../../testing/avro-changes.ts'
import { SchemaMaker, textOf } from '../../testing/avro-schemas.ts'
import { seed } from '../../testing/seed.ts'
import { askOracle, type OracleAnswer, oracleAbsence, type Seen } from './avro-oracle.ts'

const skip = oracleAbsence() ?? false
const PAIRS = 5_000
/** Departures are rare among the schemas of the pairs. */
const MOST_DEPARTURES = (2 * PAIRS) / 50

interface Case {
  readonly text: string
  readonly seen: Seen
}

interface Departure {
  readonly why: string
  holds(here: Case): boolean
}

/** Schemas that Java refuses as new and that are accepted here, or the other way round. */
const DEPARTURES_OF_NEW: readonly Departure[] = [
  {
    why: 'only Avro 1.12 reads a type that is used before it is defined; the specification and all others refuse it',
    holds: ({ seen }) =>
      seen.canonical12 !== undefined && /is not a defined name|Undefined name/.test(seen.refused11 ?? ''),
  },
  {
    why: 'Avro 1.11 alone reads {"type": "Name"}, and 1.12 alone a default of a later branch: both are accepted here',
    holds: ({ seen }) =>
      /^A schema "type" MUST|^Undefined schema/.test(seen.refused12 ?? '') &&
      /^Invalid default/.test(seen.refused11 ?? ''),
  },
]

/** Schemas that Java refuses as stored and that are accepted here. */
const DEPARTURES_OF_STORED: readonly Departure[] = [
  {
    why: 'Confluent checks the names of stored schemas; an old mistake does not block a subject here',
    holds: ({ seen }) => /^(Illegal|Empty name)/.test(seen.refusedStored ?? ''),
  },
]

const DEPARTURES_OF_NORMALIZED: readonly Departure[] = [
  {
    why: 'Float.toString of Java before 19 does not always give the shortest digits',
    holds: ({ text, seen }) => {
      const ours = printed(text)?.normalized
      return ours !== undefined && inFloats(ours) === inFloats(seen.normalized!)
    },
  },
]

const inFloats = (text: string) => text.replace(/-?\d\.\d+E\d+/g, digits => String(Math.fround(Number(digits))))

const random = seededRandom(seed)
const pairs = Array.from({ length: PAIRS }, () => {
  const one = new SchemaMaker(random).schema()
  const other = changed(one, random.below(4), random)
  const texts = [textOf(one, random), textOf(other, random)] as const
  return random.below(2) === 0 ? { reader: texts[1], writer: texts[0] } : { reader: texts[0], writer: texts[1] }
})

let answers: readonly OracleAnswer[] = []
let cases: readonly Case[] = []

before(async () => {
  if (skip !== false) return
  answers = await askOracle(pairs)
  assert.equal(answers.length, PAIRS)
  cases = pairs.flatMap(({ reader, writer }, i) => [
    { text: reader, seen: answers[i]!.reader },
    { text: writer, seen: answers[i]!.writer },
  ])
})

function parse(text: string, strictness: Strictness) {
  try {
    return avro.parse({ text, dependencies: [] }, strictness)
  } catch (error) {
    if (error instanceof InvalidSchema) return error
    throw error
  }
}

/** Asserts that nothing differs but what has a departure, and that few do. */
function assertAgreed(
  t: TestContext,
  differing: readonly Case[],
  departures: readonly Departure[],
  shown: (here: Case) => unknown,
): void {
  const unexplained = differing.filter(here => !departures.some(departure => departure.holds(here)))
  assert.deepEqual(
    unexplained.slice(0, 3).map(here => ({ ...here, here: shown(here) })),
    [],
  )
  for (const { why, holds } of departures) t.diagnostic(`${differing.filter(holds).length} of ${cases.length}: ${why}`)
  assert.ok(differing.length <= MOST_DEPARTURES, `${differing.length} differ`)
}

const isRefused = (text: string, strictness: Strictness) => parse(text, strictness) instanceof InvalidSchema

test('a new schema is accepted if Avro 1.11 or 1.12 accepts it', { skip }, t => {
  const accepts = ({ seen }: Case) => seen.canonical11 !== undefined || seen.canonical12 !== undefined
  const differing = cases.filter(here => isRefused(here.text, 'new') === accepts(here))
  assertAgreed(t, differing, DEPARTURES_OF_NEW, ({ text }) => parse(text, 'new'))
  const accepted = cases.filter(accepts).length
  assert.ok(accepted > cases.length / 2 && accepted < cases.length * 0.98, `${accepted} are valid`)
})

test('a stored schema is accepted if Confluent’s AvroSchema accepts it', { skip }, t => {
  const differing = cases.filter(here => isRefused(here.text, 'stored') === (here.seen.stored !== undefined))
  assertAgreed(t, differing, DEPARTURES_OF_STORED, ({ text }) => parse(text, 'stored'))
})

test('the canonical text is Java’s, character for character', { skip }, t => {
  const differing = cases.filter(({ text, seen }) => {
    const canonical = printed(text)?.canonical ?? null
    const java = [seen.canonical11, seen.canonical12, seen.stored]
    return canonical !== null && java.some(other => other !== undefined && other !== canonical)
  })
  assertAgreed(t, differing, [], ({ text }) => printed(text))
})

function printed(text: string) {
  const schema = parse(text, 'stored')
  return schema instanceof InvalidSchema ? undefined : avro.print(schema)
}

test('the normalized text is Confluent’s', { skip }, t => {
  const differing = cases.filter(
    ({ text, seen }) => seen.normalized !== undefined && printed(text)?.normalized !== seen.normalized,
  )
  assertAgreed(t, differing, DEPARTURES_OF_NORMALIZED, ({ text }) => printed(text))
})

const typesOf = (reasons: readonly { readonly type: string }[]) => [...new Set(reasons.map(({ type }) => type))].sort()
const placesOf = (reasons: readonly { readonly type: string; readonly path: string }[]) =>
  [...new Set(reasons.map(({ type, path }) => `${type} ${path}`))].sort()

test('a reader reads a writer if Confluent says so, and the reasons are Java’s', { skip }, () => {
  const counts = { compatible: 0, incompatible: 0, places: 0 }
  for (const [i, { reader, writer }] of pairs.entries()) {
    const { compatible, reasons, failed } = answers[i]!
    if (compatible === undefined) continue
    const [mine, theirs] = [parse(reader, 'stored'), parse(writer, 'stored')]
    assert.ok(!(mine instanceof InvalidSchema || theirs instanceof InvalidSchema))
    const differences = avro.compare(mine, theirs, 'STRICT')
    const told = `${reader}\n${writer}\n${JSON.stringify(differences)}\n${JSON.stringify(reasons)} ${failed}`
    assert.equal(differences.length === 0, compatible, told)
    counts[compatible ? 'compatible' : 'incompatible']++
    if (compatible || reasons === undefined) continue
    const known = differences.map(difference => ({
      ...difference,
      // Java compares such an enum with the record that lacks its field.
      type: difference.description.includes('the default of its enum') ? 'TYPE_MISMATCH' : difference.type,
      path: difference.path + (difference.description.includes('the default of its enum') ? '/type' : ''),
    }))
    assert.deepEqual(typesOf(known), typesOf(reasons), told)
    // Java names the place of the first of two equal pairs of types for both.
    if (JSON.stringify(placesOf(known)) === JSON.stringify(placesOf(reasons))) counts.places++
  }
  const compared = counts.compatible + counts.incompatible
  const shown = JSON.stringify(counts)
  assert.ok(compared > PAIRS * 0.6, shown)
  assert.ok(counts.compatible > compared * 0.35 && counts.incompatible > compared * 0.3, shown)
  assert.ok(counts.places > counts.incompatible * 0.9, shown)
})

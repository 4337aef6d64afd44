// protoc as the judge: descriptors are the same bytes, normalized texts are accepted and say the same, and what protoc
// refuses is refused. Schemas are this folder's, those that protoc brings, and texts with random mistakes.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { InvalidSchema } from '../../src/registry/format.ts'
import { protobuf, serialized } from '../../src/registry/protobuf/protobuf.ts'
import { hasProgram } from '../../testing/programs.ts'
import { fc } from '../../testing/property.ts'

const skip = hasProgram('protoc') ? false : 'SKIPPED protoc: apt-get install protobuf-compiler'

const PROTOS = join(import.meta.dirname, 'protos')
/** Where Debian's libprotobuf-dev has the files of google/protobuf. */
const INCLUDE = '/usr/include'
const MINUTE = 60_000

const folder = mkdtempSync(join(tmpdir(), 'ketch-protoc-'))
after(() => rmSync(folder, { recursive: true }))

interface Judged {
  /** The descriptor of the file; null if protoc refuses it. */
  readonly bytes: Buffer | null
  readonly error: string
}

function judge(text: string, name = 'judged.proto'): Judged {
  const file = join(folder, 'descriptors')
  writeFileSync(join(folder, 'judged.proto'), text)
  const from = name === 'judged.proto' ? [`-I${folder}`] : []
  const args = ['--experimental_allow_proto3_optional', ...from, `-I${INCLUDE}`, `--descriptor_set_out=${file}`, name]
  const { status, stderr } = spawnSync('protoc', args, { encoding: 'utf8' })
  return { bytes: status === 0 ? firstOf(readFileSync(file)) : null, error: stderr }
}

/** A FileDescriptorSet with one file is a tag, a length and the file. */
function firstOf(set: Buffer): Buffer {
  let at = 1
  while ((set[at] ?? 0) >= 0x80) at++
  return set.subarray(at + 1)
}

function parse(text: string) {
  return protobuf.parse({ text, dependencies: [] }, 'new')
}

const own = readdirSync(PROTOS).map(name => [name, readFileSync(join(PROTOS, name), 'utf8')] as const)

function shipped(): (readonly [string, string])[] {
  const names = readdirSync(join(INCLUDE, 'google/protobuf')).filter(name => name.endsWith('.proto'))
  return names.map(name => {
    const path = `google/protobuf/${name}`
    return [path, readFileSync(join(INCLUDE, path), 'utf8')] as const
  })
}

test('descriptors are those of protoc, byte for byte', { skip }, () => {
  for (const [name, text] of [...own, ...shipped()]) {
    const isShipped = name.startsWith('google/')
    const { bytes, error } = judge(text, isShipped ? name : 'judged.proto')
    assert.ok(bytes !== null, error)
    const made = Buffer.from(serialized(parse(text), isShipped ? name : 'judged.proto'), 'base64')
    assert.ok(made.equals(bytes), name)
  }
})

test('a descriptor of protoc is the schema of its text', { skip }, () => {
  for (const [name, text] of own) {
    const { bytes } = judge(text)
    const again = parse(bytes?.toString('base64') ?? '')
    assert.equal(protobuf.print(again).normalized, protobuf.print(parse(text)).normalized, name)
    assert.ok(serialized(again, 'judged.proto') === bytes?.toString('base64'), name)
  }
})

test('protoc accepts canonical and normalized texts, and both come back as they are', { skip }, () => {
  for (const [name, text] of [...own, ...shipped()]) {
    const { canonical, normalized } = protobuf.print(parse(text))
    // A copy of a file that protoc knows would declare its names twice.
    if (!name.startsWith('google/'))
      for (const printed of [canonical, normalized]) assert.equal(judge(printed).error.includes('error'), false)
    assert.equal(protobuf.print(parse(canonical)).canonical, canonical, name)
    assert.equal(protobuf.print(parse(normalized)).normalized, normalized, name)
  }
})

/** Refusals of protoc for options: here an option that means nothing is kept. */
const OPTIONS = /option|Option|aliases|Invalid '-' symbol/
/** This protoc compares JSON names without their case; newer ones do not. */
const NAMES = /JSON camel-case name/

/** Numbers and names in one statement: Wire accepts them, protoc does not. */
const MIXED = /reserved [^;]*(?:\d[^;"]*"|"[^;\d]*\d)/

function words(text: string): string[] {
  return text.match(/"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d[\w.]*|\s+|\S/g) ?? []
}

test('texts with random mistakes are refused as protoc refuses them', { skip, timeout: 5 * MINUTE }, () => {
  const texts = own.map(([, text]) => words(text))
  const pool = texts.flat().filter(word => word.trim() !== '')
  const mistake = fc.record({
    file: fc.nat(texts.length - 1),
    at: fc.nat(100_000),
    word: fc.constantFrom(...pool),
    kind: fc.constantFrom('drop', 'replace', 'insert'),
  })
  const verdicts = { accepted: 0, refused: 0 }
  fc.assert(
    fc.property(mistake, ({ file, at, word, kind }) => {
      const text = texts[file] ?? []
      const place = at % text.length
      const changed = text.toSpliced(place, kind === 'insert' ? 0 : 1, ...(kind === 'drop' ? [] : [word])).join('')
      const { bytes, error } = judge(changed)
      if (bytes === null && (OPTIONS.test(error) || NAMES.test(error) || MIXED.test(changed))) return
      const refusal = refusalOf(changed)
      // protoc accepts bytes that are no UTF-8 as the default of a string.
      if (bytes !== null && refusal?.includes('expected a string') === true) return
      // This protoc accepts a reserved range that ends before it begins; newer ones do not.
      if (bytes !== null && refusal?.includes('is empty') === true) return
      assert.equal(refusal === null, bytes !== null, `here: ${refusal}; protoc: ${error}`)
      verdicts[bytes === null ? 'refused' : 'accepted']++
    }),
    { numRuns: 1_500 },
  )
  assert.ok(verdicts.accepted > 50 && verdicts.refused > 50, JSON.stringify(verdicts))
})

function refusalOf(text: string): string | null {
  try {
    parse(text)
    return null
  } catch (error) {
    assert.ok(error instanceof InvalidSchema, String(error))
    return error.message
  }
}

// Tables of pairs of JSON schemas. Each row names the line of the rules that it holds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonSchema } from '../src/registry/json/json-schema.ts'

/** A schema without `$schema`, which is draft-07, or its text. */
export type Source = object | boolean

/** The line, the writer, the reader, and the reasons under STRICT and (by default the same) LENIENT; '' for none. */
export type Row = readonly [line: string, writer: Source, reader: Source, strict: string, lenient?: string]

export const DRAFT_4 = 'http://json-schema.org/draft-04/schema#'
export const DRAFT_2019 = 'https://json-schema.org/draft/2019-09/schema'
export const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'

export function parse(source: Source, strictness: 'new' | 'stored' = 'new') {
  return jsonSchema.parse({ text: JSON.stringify(source), dependencies: [] }, strictness)
}

/** The kinds of the reasons, in their order and each once, for a comparison of two sources. */
export function reasons(
  writer: Source,
  reader: Source,
  policy: 'STRICT' | 'LENIENT' = 'STRICT',
  strictness: 'new' | 'stored' = 'new',
): string {
  const found = jsonSchema.compare(parse(reader, strictness), parse(writer, strictness), policy)
  return [...new Set(found.map(({ type }) => type))].sort().join(' ')
}

/** Declares a test for each row. */
export function testRows(about: string, rows: readonly Row[]): void {
  for (const [line, writer, reader, strict, lenient = strict] of rows) {
    test(`${about}, ${line}: ${strict === '' ? 'compatible' : strict}`, () => {
      assert.equal(reasons(writer, reader, 'STRICT'), strict)
      assert.equal(reasons(writer, reader, 'LENIENT'), lenient)
    })
  }
}

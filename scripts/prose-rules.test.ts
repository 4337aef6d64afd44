import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspectProse } from './prose-rules.ts'

const inspect = (text: string, file = 'src/log/lane.ts') =>
  inspectProse(new Map([[file, text]])).map(({ text }) => text)

test('a comment is at most 120 columns wide, and code and pages may be wider', () => {
  const wide = 'x'.repeat(121)
  assert.deepEqual(inspect(`// ${wide}`), ['a comment of 124 columns'])
  assert.deepEqual(inspect(`  * ${wide}`), ['a comment of 125 columns'])
  assert.deepEqual(inspect(`// ${'x'.repeat(117)}`), [])
  assert.deepEqual(inspect(`const a = '${wide}'`), [])
  assert.deepEqual(inspect(wide, 'docs/guides/memory.md'), [])
})

test('words that leave open who does something are found in comments, texts, names of tests and pages', () => {
  assert.deepEqual(inspect('// whoever asks waits'), ['"whoever"'])
  assert.deepEqual(inspect("log.warn('nobody reads it')"), ['"nobody"'])
  assert.deepEqual(inspect("test('where it is not said, one partition', () => {})"), ['"where it is not said"'])
  assert.deepEqual(inspect('Null where there is none.', 'docs/walks/fetch.md'), ['"there is none"'])
  assert.deepEqual(inspect('// waits so many milliseconds'), ['"so many"'])
  assert.deepEqual(inspect('// The client that asks waits until a broker leads the partition.'), [])
})

test('a sentence that begins with what is found, a question and a heading are not', () => {
  assert.deepEqual(inspect('// What a client sends is kept.'), ['"// What"'])
  assert.deepEqual(inspect('/** What it holds. */'), ['"/** What"'])
  assert.deepEqual(inspect('// It is kept. What was before goes.'), ['". What"'])
  assert.deepEqual(inspect("log.info('What other brokers changed cannot be read')"), ['"\'What"'])
  assert.deepEqual(inspect('## What works', 'README.md'), [])
  assert.deepEqual(inspect('// It asks what is there.'), [])
})

test('the name of a test begins with no number of a row', () => {
  assert.deepEqual(inspect("test('S12: a token is refused', () => {})").length, 1)
  assert.deepEqual(inspect("test('W12, S4: a token is refused', () => {})").length, 1)
  assert.deepEqual(inspect("test('judged 8: a token is refused', () => {})").length, 1)
  assert.deepEqual(inspect("test('100 records: all arrive', () => {})"), [])
  assert.deepEqual(inspect("test('a token of S3 is refused', () => {})"), [])
})

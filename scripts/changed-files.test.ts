import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { changedFiles, keepPassed, readPassed, type Sources } from './changed-files.ts'

const sources: Sources = new Map([
  ['src/log/clock.ts', 'export const now = 1\n'],
  ['src/log/lane.ts', "import { now } from './clock.ts'\nexport const at = now\n"],
  ['src/main.ts', "const { at } = await import('./log/lane.ts')\nconsole.log(at)\n"],
  ['src/other.ts', 'export const other = 1\n'],
  ['src/globals.ts', 'declare global {\n  var ours: number\n}\nexport {}\n'],
  ['package-lock.json', '{}'],
])
const withFile = (file: string, content: string): Sources => new Map([...sources, [file, content]])

/** Returns what readPassed() gives after these files passed. */
function passed(of: Sources) {
  const folder = mkdtempSync(join(tmpdir(), 'ketch-changed-'))
  keepPassed(join(folder, 'deep/cache.json'), of)
  const hashes = readPassed(join(folder, 'deep/cache.json'))
  rmSync(folder, { recursive: true })
  return hashes
}

test('no file has changed after a run that passed, and a new or other content has', () => {
  const before = passed(sources)
  assert.deepEqual(changedFiles(sources, before, { importers: true }), [])
  const changed = withFile('src/log/clock.ts', 'export const now = 2\n')
  assert.deepEqual(changedFiles(changed, before, { importers: false }), ['src/log/clock.ts'])
  assert.deepEqual(changedFiles(withFile('src/new.ts', ''), before, { importers: true }), ['src/new.ts'])
})

test('a change reaches the files that import it at any distance, also if it is deleted', () => {
  const before = passed(sources)
  const changed = withFile('src/log/clock.ts', 'export const now = Promise.resolve(1)\n')
  const all = ['src/log/clock.ts', 'src/log/lane.ts', 'src/main.ts']
  assert.deepEqual(changedFiles(changed, before, { importers: true }), all)
  const without = new Map([...sources].filter(([file]) => file !== 'src/log/clock.ts'))
  assert.deepEqual(changedFiles(without, before, { importers: true }), ['src/log/lane.ts', 'src/main.ts'])
})

test('packages, settings and types for every file reach every file, also those that are there no more', () => {
  const before = passed(sources)
  for (const file of ['package-lock.json', 'console/tsconfig.json', 'biome.json', '.oxlintrc.json', 'e2e/any.d.ts'])
    assert.equal(changedFiles(withFile(file, '{ }'), before, { importers: true }), null, file)
  const without = new Map([...sources].filter(([file]) => file !== 'package-lock.json'))
  assert.equal(changedFiles(without, before, { importers: true }), null)
  assert.equal(changedFiles(withFile('src/globals.ts', 'export {}\n'), before, { importers: true }), null)
  assert.equal(changedFiles(withFile('src/more.ts', "declare module 'x'\n"), before, { importers: true }), null)
})

test('without a cache, or with half a one, every file has changed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ketch-changed-'))
  assert.equal(readPassed(join(folder, 'none.json')).size, 0)
  writeFileSync(join(folder, 'half.json'), '{"src/main.ts":"ab')
  assert.equal(readPassed(join(folder, 'half.json')).size, 0)
  rmSync(folder, { recursive: true })
  const some = new Map([...sources].filter(([file]) => file === 'src/main.ts' || file === 'src/other.ts'))
  assert.deepEqual(changedFiles(some, new Map(), { importers: false }), ['src/main.ts', 'src/other.ts'])
  assert.equal(changedFiles(sources, new Map(), { importers: false }), null)
})

// Reads the files of the repository and prints every violation of the house rules (house-rules.ts, prose-rules.ts),
// each with the way to fix it.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspectHouse } from './house-rules.ts'
import { root } from './node24.mjs'
import { inspectProse } from './prose-rules.ts'

function read(patterns: readonly string[]): ReadonlyMap<string, string> {
  const files = globSync([...patterns], {
    cwd: root,
    exclude: ['node_modules/**', 'console/{node_modules,dist}/**'],
  }).sort()
  return new Map(files.map(file => [file, readFileSync(join(root, file), 'utf8')]))
}

/** This file contains examples that break the rules. */
const RULES_TEST = 'scripts/house-rules.test.ts'

const code = read(['{src,testing,e2e,bench,scripts,console}/**/*.{ts,tsx}'])
const sources = new Map([...code].filter(([file]) => file !== RULES_TEST))
const texts = read([
  '{src,testing,e2e,bench,scripts,console}/**/*.{ts,tsx,mts,mjs,lua}',
  '*.md',
  'docs/**/*.md',
  'svc.yaml',
])
const findings = [...inspectHouse(sources), ...inspectProse(texts)]
for (const { file, line, text, instead } of findings) console.log(`${file}:${line}: ${text}; ${instead}`)
console.log(`${texts.size} files, ${findings.length} findings`)
process.exit(findings.length > 0 ? 1 : 0)

// Checks that the links in the pages of the repository lead to files, folders and headings that exist, and that
// docs/README.md leads to the most frequent answers. Links to other sites are not checked.

import assert from 'node:assert/strict'
import { globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const pages = globSync('{*.md,{docs,bench,e2e,src,testing,scripts}/**/*.md}', { cwd: root }).sort()

/** Returns the text of a page without fenced blocks and code, because links in them are plain text. */
const textOf = (page: string) =>
  readFileSync(join(root, page), 'utf8')
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/`[^`\n]*`/g, code => code.replace(/[[\]]/g, ' '))

const linksOf = (page: string) => Array.from(textOf(page).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!)

/** Returns the anchors that GitHub generates for the headings of a page. */
function anchorsOf(page: string): ReadonlySet<string> {
  const seen = new Map<string, number>()
  const anchors = Array.from(textOf(page).matchAll(/^#+ +(.*)$/gm), ([, heading]) => {
    const words = heading!.toLowerCase().replace(/\]\([^)]*\)/g, ']')
    const slug = words.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/ /g, '-')
    const before = seen.get(slug) ?? 0
    seen.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  })
  return new Set(anchors)
}

/** Returns the path in the repository that a link leads to, and its anchor; null for a link to another site. */
function follow(page: string, target: string): { readonly path: string; readonly anchor: string | undefined } | null {
  if (/^[a-z]+:/.test(target)) return null
  const [path, anchor] = target.split('#')
  return { path: path === '' ? page : normalize(join(dirname(page), path!)), anchor }
}

test('each link of each page leads to a file, and to a heading if it names one', () => {
  assert.ok(pages.length > 50)
  const broken = pages.flatMap(page =>
    linksOf(page)
      .filter(target => {
        const place = follow(page, target)
        if (place === null) return false
        if (statSync(join(root, place.path), { throwIfNoEntry: false }) === undefined) return true
        return place.anchor !== undefined && !anchorsOf(place.path).has(place.anchor)
      })
      .map(target => `${page}: ${target}`),
  )
  assert.deepEqual(broken, [])
})

/** A question, and a pattern that the text of its answer must match. */
const QUESTIONS: readonly (readonly [RegExp, RegExp])[] = [
  [/an acknowledgement promise/, /kill -9|power/i],
  [/three brokers on Redis/, /--svc\.redis\.uri=\S+ --svc\.broker\.id=3/],
  [/settings exist/, /`svc\.broker\.port`/],
  [/clients, tools and test suites were tried/, /librdkafka/],
  [/sign in/, /change-me-now/],
]

test('docs/README.md answers five questions in two clicks: the page of the question, and at most a heading there', () => {
  const rows = readFileSync(join(root, 'docs/README.md'), 'utf8')
    .split('\n')
    .filter(line => line.startsWith('| '))
  for (const [question, answer] of QUESTIONS) {
    const row = rows.find(each => question.test(each))
    assert.ok(row !== undefined, `no row asks ${question}`)
    const [, target] = /\]\(([^)]+)\)/.exec(row) ?? []
    const place = follow('docs/README.md', target!)!
    assert.match(readFileSync(join(root, place.path), 'utf8'), answer, row)
  }
  assert.ok(linksOf('README.md').includes('docs/README.md'), 'the README is one click from the index')
})

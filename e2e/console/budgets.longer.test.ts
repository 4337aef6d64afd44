// The sizes of the built console, compressed with gzip, and the network log of a real first load: how much is asked
// for, from which server, and in how many requests. The numbers are printed.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { builtFolder } from '../../scripts/console-build.mjs'
import { type PageId, pages } from '../../src/api/pages.ts'
import { atLength } from '../../testing/at-length.ts'
import { noBrowser, openBrowser, signIn, visit } from './browser.ts'
import { seed } from './seeded.ts'
import { seedSchemas } from './seeded-schemas.ts'
import { seedTier } from './seeded-tier.ts'
import { addressOf, openPages, settle } from './tour.ts'
import { ADMIN, ensureConsole, startTieredWorld } from './world.ts'

/** In KiB of gzip. */
const LIMITS = { script: 140, style: 15, page: 30, charts: 30, editor: 100, all: 380 }
const MOST_REQUESTS = 12
/** The pages that `npm test` loads: one before sign-in, and the largest ones. --all loads every page. */
const SOME_PAGES = ['signIn', 'overview', 'messages', 'subject'] as const

interface Chunk {
  readonly file: string
  readonly isEntry?: boolean
  readonly imports?: readonly string[]
  readonly css?: readonly string[]
}

/** The chunks by their names in the build's own manifest. */
let chunks: Readonly<Record<string, Chunk>> = {}

function kib(bytes: number): number {
  return Math.round((bytes / 1024) * 10) / 10
}

/** Returns the bytes of a built file as gzip sends them. */
function sizeOf(file: string): number {
  const path = join(builtFolder, file)
  return statSync(existsSync(`${path}.gz`) ? `${path}.gz` : path).size
}

/** Returns the files that a chunk needs, its styles too. */
function filesOf(name: string, files = new Set<string>()): Set<string> {
  const { file, imports = [], css = [] } = chunks[name]!
  if (files.has(file)) return files
  for (const each of [file, ...css]) files.add(each)
  for (const each of imports) filesOf(each, files)
  return files
}

const total = (files: Iterable<string>, ending = '') =>
  [...files].filter(file => file.endsWith(ending)).reduce((sum, file) => sum + sizeOf(file), 0)

/** Fails if a size is over its limit, and prints it. */
function within(name: string, bytes: number, limit: number): void {
  console.log(`${name}: ${kib(bytes)} of ${limit} KiB`)
  assert.ok(kib(bytes) <= limit, `${name} has ${kib(bytes)} KiB, more than ${limit}`)
}

describe('the sizes of the console', () => {
  let first = new Set<string>()
  before(() => {
    ensureConsole()
    chunks = JSON.parse(readFileSync(join(builtFolder, '.vite/manifest.json'), 'utf8'))
    first = filesOf(Object.keys(chunks).find(name => chunks[name]!.isEntry === true)!)
  })

  const beyondFirst = (name: string) => [...filesOf(name)].filter(file => !first.has(file))

  test('the frame, charts and the editor are small, and so is everything together', () => {
    within('first load, script', total(first, '.js'), LIMITS.script)
    within('first load, style', total(first, '.css'), LIMITS.style)
    within('charts', total(beyondFirst('parts/chart-plot.tsx')), LIMITS.charts)
    // The pages that open it have the files that it needs.
    within('editor', sizeOf(chunks['parts/large-text.tsx']!.file), LIMITS.editor)
    within('all', total(new Set(Object.keys(chunks).flatMap(name => [...filesOf(name)]))), LIMITS.all)
  })

  test(`the first load of ${atLength('every page', 'some pages')} is small, and asks this server alone in few requests`, {
    skip: noBrowser,
    timeout: 180_000,
  }, async t => {
    const world = await startTieredWorld(t, 'embedded')
    await seed(world)
    await seedSchemas(world)
    await seedTier(world)
    const browser = await openBrowser()
    t.after(() => browser.close())
    const cookie = await visit(t, browser, world.url)
    await cookie.page.goto('/')
    await signIn(cookie.page, ADMIN.username, ADMIN.password)
    await cookie.page.getByRole('navigation', { name: 'Pages' }).waitFor()
    const storageState = await cookie.page.context().storageState()
    // Charts and the editor are loaded when a page shows them, and have limits of their own.
    const later = ['parts/chart-plot.tsx', 'parts/large-text.tsx'].flatMap(name => {
      const { file, css = [] } = chunks[name]!
      return [file, ...css]
    })
    for (const id of atLength<readonly PageId[]>(Object.keys(pages) as PageId[], SOME_PAGES)) {
      const options = openPages.includes(id) ? {} : { storageState }
      const { page, assertQuiet } = await visit(t, browser, world.url, options)
      const paths: string[] = []
      page.on('request', request => paths.push(new URL(request.url()).pathname))
      await page.goto(addressOf(id))
      await settle(page)
      await page.waitForLoadState('networkidle')
      // The browser may ask its cache again for the icon when the address changes.
      const files = [...new Set(paths.filter(path => path.startsWith('/assets/')).map(path => path.slice(1)))]
      const api = paths.filter(path => path.startsWith('/api/'))
      const needed = files.filter(file => !later.includes(file))
      const log = `${needed.length + 1} files and ${api.length} answers of the API\n  ${[...files, ...api].join('\n  ')}`
      console.log(`${id}: ${log}`)
      assert.ok(needed.length + 1 <= MOST_REQUESTS, `${id} asks for ${log}`)
      within(`${id}, script without charts`, total(needed, '.js'), LIMITS.script)
      within(`${id}, the page itself`, total(needed.filter(file => !first.has(file))), LIMITS.page)
      within(`${id}, style`, total(files, '.css'), LIMITS.style)
      assertQuiet()
      await page.context().close()
    }
  })
})

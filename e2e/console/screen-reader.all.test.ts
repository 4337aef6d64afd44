// Reads every page and dialog of the console as a screen reader gets it: from the accessibility tree of the browser.
// Controls, images, tables and dialogs have names, headings form an outline, tables have header cells, the order of
// the focus is the order on the screen, and a region that announces results is there before its text.
//
// It reads every page with each of its tabs, and of the views that only an address opens every third one. The seed
// chooses them. `npm run console -- screen-reader` reads all of them.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { pages } from '../../src/api/pages.ts'
import { eventually } from '../../testing/eventually.ts'
import { noBrowser, openBrowser, resize, visit, visitAs } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { isGone, openDialog, openersOf } from './dialogs.ts'
import { partOf } from './part.ts'
import { NAMES, seed } from './seeded.ts'
import { seedSchemas } from './seeded-schemas.ts'
import { addressOf, openPages, pageStops, settle, views } from './tour.ts'
import { startBare, startWorld, type World } from './world.ts'

const WIDTHS = [1440, 360] as const

/** Roles whose node a user operates or looks at, so that a node without a name is nothing. */
const NAMED = new Set([
  ...['button', 'link', 'textbox', 'searchbox', 'combobox', 'listbox', 'checkbox', 'radio', 'switch', 'slider'],
  ...['spinbutton', 'tab', 'menuitem', 'option', 'dialog', 'alertdialog', 'image', 'img', 'table', 'columnheader'],
  ...['heading', 'navigation', 'region', 'progressbar', 'meter'],
])

interface AxNode {
  readonly nodeId: string
  readonly ignored: boolean
  readonly role?: { readonly value: string }
  readonly name?: { readonly value: string }
  readonly properties?: readonly { readonly name: string; readonly value: { readonly value?: unknown } }[]
  readonly childIds?: readonly string[]
}

interface Read {
  readonly role: string
  readonly name: string
  readonly level: number
  /** From the root to the parent. */
  readonly path: readonly Read[]
}

/** Returns the nodes that a screen reader meets, in its order. */
async function read(devtools: CDPSession): Promise<readonly Read[]> {
  const { nodes } = (await devtools.send('Accessibility.getFullAXTree')) as { readonly nodes: readonly AxNode[] }
  const byId = new Map(nodes.map(node => [node.nodeId, node]))
  const found: Read[] = []
  const enter = (node: AxNode, path: readonly Read[]) => {
    let inside = path
    if (!node.ignored) {
      const level = Number(node.properties?.find(({ name }) => name === 'level')?.value.value ?? 0)
      const one = { role: node.role?.value ?? '', name: node.name?.value.trim() ?? '', level, path }
      found.push(one)
      inside = [...path, one]
    }
    for (const id of node.childIds ?? []) if (byId.has(id)) enter(byId.get(id)!, inside)
  }
  enter(nodes[0]!, [])
  assert.ok(found.length > 5, 'the tree is empty')
  return found
}

const place = ({ path, role }: Read) =>
  [...path.slice(-3), { role, name: '' }]
    .map(each => (each.name === '' ? each.role : `${each.role} ${each.name.slice(0, 30)}`))
    .join(' > ')

/** Returns what is wrong in the tree. A dialog continues the outline of the page below it. */
function wrongIn(nodes: readonly Read[], isDialog: boolean): readonly string[] {
  const wrong = nodes.filter(({ role, name }) => NAMED.has(role) && name === '').map(node => `no name: ${place(node)}`)
  const headings = nodes.filter(({ role }) => role === 'heading')
  const firsts = headings.filter(({ level }) => level === 1).length
  if (firsts !== (isDialog ? 0 : 1)) wrong.push(`${firsts} headings of level 1`)
  let before = isDialog ? 1 : 0
  for (const { name, level } of headings) {
    if (level > before + 1) wrong.push(`the heading ${name} has level ${level} after level ${before}`)
    before = level
  }
  for (const table of nodes.filter(({ role }) => role === 'table')) {
    const inside = nodes.filter(({ path }) => path.includes(table))
    if (!inside.some(({ role }) => role === 'columnheader')) wrong.push(`no column heads: ${table.name}`)
    for (const row of inside.filter(({ role }) => role === 'row')) {
      const cells = inside.filter(({ path }) => path.includes(row))
      if (cells.length > 0 && !cells.some(({ role }) => role === 'rowheader' || role === 'columnheader'))
        wrong.push(`a row without a head: ${table.name}`)
    }
  }
  if (isDialog !== nodes.some(({ role }) => role === 'dialog')) wrong.push(isDialog ? 'no dialog' : 'a dialog is open')
  if (!isDialog && nodes.filter(({ role }) => role === 'main').length !== 1) wrong.push('not one main part')
  return [...new Set(wrong)]
}

/**
 * Returns neighbours in the order of the focus whose second one lies before the first on the screen: above it, or to
 * its left in the same line. No element may change the order of the document.
 */
function outOfOrder(page: Page, inside: string): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    scrollTo(0, 0)
    const root = document.querySelector(${JSON.stringify(inside)})
    const selector = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex]'
    const all = [...root.querySelectorAll(selector)].filter(each => each.tabIndex >= 0 && each.checkVisibility({ visibilityProperty: true }))
    const says = each => each.localName + ' ' + (each.getAttribute('aria-label') ?? each.innerText ?? '').trim().slice(0, 40)
    const wrong = all.filter(each => each.tabIndex > 0).map(each => 'a place of its own: ' + says(each))
    for (const [at, one] of all.entries()) {
      const next = all[at + 1]
      if (next === undefined || one.contains(next)) continue
      const [a, b] = [one.getBoundingClientRect(), next.getBoundingClientRect()]
      if (a.width <= 1 || b.width <= 1) continue
      const isAbove = b.bottom <= a.top + 1 && b.left < a.right
      const isBefore = b.right <= a.left + 1 && b.top < a.bottom - 1 && b.bottom > a.top + 1
      if (isAbove || isBefore) wrong.push(says(next) + ' comes after ' + says(one))
    }
    return wrong
  })()`)
}

const own = suiteCleanUp()

describe('the console as a screen reader gets it', { skip: noBrowser, concurrency: 1 }, () => {
  let browser: Browser
  let world: World
  let page: Page
  let devtools: CDPSession
  before(async () => {
    world = await startWorld(own, 'embedded')
    await seed(world)
    await seedSchemas(world)
    browser = await openBrowser()
    page = (await visitAs(own, browser, world.url, world.admin.cookie)).page
    devtools = await page.context().newCDPSession(page)
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  const tried = new Set<string>()

  for (const { name, address, page: id } of [...pageStops, ...partOf(views)])
    test(name, { timeout: 500_000 }, async () => {
      await page.goto(address)
      await settle(page)
      const wrong: string[] = []
      for (const width of WIDTHS) {
        await resize(page, width)
        const found = [...wrongIn(await read(devtools), false), ...(await outOfOrder(page, 'body'))]
        wrong.push(...found.map(each => `${width} px: ${each}`))
      }
      await resize(page, WIDTHS[0])
      for (;;) {
        const opener = (await openersOf(page)).find(({ kind }) => !tried.has(`${id} ${kind}`))
        if (opener === undefined) break
        tried.add(`${id} ${opener.kind}`)
        const before = page.url()
        const dialog = await openDialog(page, () => opener.button.click())
        if (dialog !== null) {
          const found = [...wrongIn(await read(devtools), true), ...(await outOfOrder(page, 'dialog[open]'))]
          wrong.push(...found.map(each => `${opener.kind}: ${each}`))
        }
        if (dialog !== null) await page.keyboard.press('Escape')
        // Most dialogs leave the page as it was.
        if (dialog !== null && (await isGone(dialog)) && page.url() === before) continue
        await page.goto(address)
        await settle(page)
      }
      assert.deepEqual(wrong, [])
    })

  test('the pages that need no session', { timeout: 500_000 }, async () => {
    const bare = await startBare(own, 'embedded', { 'admin.bootstrap': false })
    for (const id of openPages) {
      const visited = await visit(own, browser, id === 'setup' ? bare.url : world.url)
      await visited.page.goto(pages[id].path)
      await settle(visited.page)
      const tree = await read(await visited.page.context().newCDPSession(visited.page))
      assert.deepEqual([...wrongIn(tree, false), ...(await outOfOrder(visited.page, 'body'))], [], id)
    }
  })

  /** Returns the texts of the regions that a screen reader reads aloud when they change. */
  async function announced(of: CDPSession): Promise<readonly string[]> {
    const nodes = await read(of)
    return nodes
      .filter(({ role }) => role === 'status')
      .map(region => nodes.filter(({ role, path }) => role === 'StaticText' && path.includes(region)))
      .map(texts => texts.map(({ name }) => name).join(' '))
      .filter(text => text !== '')
  }

  test('results are announced by regions that were there before', { timeout: 500_000 }, async t => {
    const visited = await visitAs(t, browser, world.url, world.admin.cookie)
    const own = visited.page
    const of = await own.context().newCDPSession(own)
    // Notes each region that comes with its text, or whose box comes with its text.
    await own.addInitScript(`
      globalThis.late = []
      const known = new WeakSet()
      const regions = () => [...document.querySelectorAll('[role=status]')]
      const isThere = each => each.checkVisibility()
      globalThis.settled = () => { late.length = 0; regions().filter(isThere).forEach(each => known.add(each)) }
      new MutationObserver(() => {
        for (const each of regions()) {
          if (each.textContent.trim() !== '' && !known.has(each)) late.push(each.outerHTML.slice(0, 200))
          if (isThere(each)) known.add(each)
        }
      }).observe(document, { childList: true, subtree: true, characterData: true, attributes: true })
    `)
    const begin = async (address: string) => {
      await own.goto(address)
      await settle(own)
      await own.evaluate('settled()')
    }
    /** Resolves when the text is in a region. Throws if a region came with its text. */
    const hear = async (text: string) => {
      await eventually(`“${text}” is announced`, async () => (await announced(of)).some(each => each.includes(text)))
      assert.deepEqual(await own.evaluate('late'), [], text)
    }
    const orders = NAMES.topic

    await begin('/topics')
    await own.getByLabel('Filter topics by name').fill('odd')
    await hear('1 topic with “odd” in the name')

    await begin(`/topics/${orders}`)
    await own.getByRole('button', { name: 'Copy topic name' }).click()
    await hear('Copied the topic name.')

    await begin(addressOf('topic', { tab: 'configuration' }))
    await own.getByRole('button', { name: 'Edit retention.ms' }).click()
    await own.getByLabel('New value of retention.ms').fill('36 h')
    await hear('1 config changed, not saved yet.')

    await begin('/topics?create=true')
    await own.getByRole('dialog').getByLabel('Name').fill('created-here')
    await own.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await hear('created-here')

    await begin(`/groups/${NAMES.idleGroup}?reset=true`)
    const dialog = own.getByRole('dialog', { name: `Reset offsets of ${NAMES.idleGroup}` })
    await dialog.getByRole('button', { name: 'Preview' }).click()
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByLabel(`Type ${NAMES.idleGroup} to confirm`).fill(NAMES.idleGroup)
    await dialog.getByRole('button', { name: 'Reset offsets' }).click()
    await hear('The reset is done.')

    await begin(`/topics/${orders}/messages?contains=no-record-has-this`)
    await own.getByLabel('Search', { exact: true }).fill('nor-this')
    await hear('0 records')

    await begin('/groups')
    await own.route('**/api/v1/groups?**', route => route.fulfill({ status: 500, json: {} }))
    await own.getByRole('button', { name: 'Refresh now' }).click()
    await hear('As of')
  })
})

// Reaches every page from the first one without a mouse: by Tab and Enter, by the keys of the table, by the palette.
// The focus is always seen, and is on the heading after each step. No key fires while somebody types, and the switch
// turns the keys off.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { type PageId, pages, type Page as Row } from '../../../src/api/pages.ts'
import { eventually } from '../../../testing/eventually.ts'
import { resize, visit } from '../browser.ts'
import { NAMES, seed } from '../seeded.ts'
import { SUBJECTS, seedSchemas } from '../seeded-schemas.ts'
import { settle } from '../tour.ts'
import { ADMIN, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

const PHONE_WIDTH = 360

/** The most presses of Tab on one page: a longer way is no way for people. */
const MOST_TABS = 250

interface Focus {
  readonly name: string
  readonly tag: string
  /** Why people do not see it; null if they do. */
  readonly hidden: string | null
}

/** Returns what has the focus. Its name is the label that people read. */
function focusOf(page: Page): Promise<Focus | null> {
  return page.evaluate(`(() => {
    let at = document.activeElement
    if (at === document.body || at === null) return null
    const host = at
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
    const name = host.getAttribute('aria-label') ?? (host.labels?.[0] ?? host).innerText.trim().split('\\n')[0]
    const { top, left, bottom, right, width, height } = host.getBoundingClientRect()
    // The line around a control may be that of the control itself or of the part around it.
    const isMarked = [at, host, host.parentElement].some(each => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(each)
      return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none'
    })
    const isInWindow = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth && width > 0 && height > 0
    const over = document.elementFromPoint(
      Math.min(innerWidth - 1, Math.max(0, left + Math.min(width, innerWidth) / 2)),
      Math.min(innerHeight - 1, Math.max(0, top + Math.min(height, innerHeight) / 2)))
    const isCovered = over !== null && !host.contains(over) && !over.contains(host)
    const hidden = !isMarked ? 'has no mark' : !isInWindow ? 'is outside of the window' : isCovered ? 'is covered' : null
    return { name, tag: host.localName, hidden }
  })()`)
}

/** Presses Tab until something with this name has the focus. The focus must be seen on the whole way. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const passed: string[] = []
  for (let press = 0; press < MOST_TABS; press++) {
    await page.keyboard.press('Tab')
    const focus = await focusOf(page)
    if (focus === null) continue
    assert.equal(focus.hidden, null, `on ${page.url()} the focus on ${focus.tag} “${focus.name}” ${focus.hidden}`)
    if (typeof name === 'string' ? focus.name === name : name.test(focus.name)) return
    passed.push(focus.name)
  }
  throw new Error(`Tab does not reach ${name} on ${page.url()}, but ${passed.slice(0, 40).join(' · ')}`)
}

/** Resolves when the page of this path has its focus on its heading. */
async function arrived(page: Page, id: PageId): Promise<void> {
  const pattern = new RegExp(`^${pages[id].path.replaceAll(/:\w+/g, '[^/]+')}$`)
  await eventually(`the page ${id} is there`, () => pattern.test(new URL(page.url()).pathname))
  await settle(page)
  await eventually(`the focus is on the heading of ${id}`, async () => (await focusOf(page))?.tag === 'h1')
}

const isDialogOpen = async (page: Page) => (await page.locator('dialog[open]').count()) > 0

export const keyboardOnly: Journey = {
  name: 'keyboard-only',
  async run({ t, browser, store }) {
    const world = await startWorld(t, store)
    await seed(world)
    await seedSchemas(world)
    const { page, assertQuiet } = await visit(t, browser, world.url)
    const reached = new Set<PageId>()
    const arrive = async (id: PageId) => {
      await arrived(page, id)
      reached.add(id)
    }
    const press = (...keys: readonly string[]) =>
      keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve())

    await page.goto('/')
    await page.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
    reached.add('signIn')
    if ((await focusOf(page))?.name !== 'Username') await tabTo(page, 'Username')
    await page.keyboard.type(ADMIN.username)
    await tabTo(page, 'Password')
    await page.keyboard.type(ADMIN.password)
    await press('Enter')
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await settle(page)

    // The first stop is the way past the navigation.
    await page.reload()
    await settle(page)
    await press('Tab')
    assert.deepEqual({ ...(await focusOf(page)), tag: '' }, { name: 'Go to the content', tag: '', hidden: null })
    await press('Enter')
    await arrive('overview')

    // Every entry of the navigation, by Tab and by its keys.
    const entries = (Object.entries(pages) as [PageId, Row][]).filter(([, { label }]) => label !== null)
    for (const [id, { label }] of entries) {
      await page.goto(id === 'overview' ? pages.topics.path : '/')
      await settle(page)
      await tabTo(page, label!)
      await press('Enter')
      await arrive(id)
    }
    for (const [id, { shortcut }] of entries) {
      await press('g', shortcut!)
      await arrive(id)
    }

    // The pages of one thing, from their lists.
    await press('g', 't')
    await arrive('topics')
    await press('/')
    await page.keyboard.type(NAMES.topic)
    await eventually('the filter is in the address', () => page.url().includes(`q=${NAMES.topic}`))
    await tabTo(page, NAMES.topic)
    await press('Enter')
    await arrive('topic')
    await tabTo(page, 'Messages')
    await press('Enter')
    await arrive('messages')
    await press('g', 'c')
    await arrive('groups')
    await press('j')
    await tabTo(page, NAMES.idleGroup)
    await press('Enter')
    await arrive('group')
    await press('g', 'm')
    await arrive('schemas')
    await tabTo(page, SUBJECTS.main)
    await press('Enter')
    await arrive('subject')
    await press('g', 'b')
    await arrive('brokers')
    await tabTo(page, /^(Broker )?0\b/)
    await press('Enter')
    await arrive('broker')
    await tabTo(page, /^Account and preferences/)
    await press('Enter')
    await tabTo(page, 'Change password')
    await press('Enter')
    await arrive('password')
    // The setup is there only before the first administrator: first-run.
    assert.deepEqual(
      (Object.keys(pages) as PageId[]).filter(id => !reached.has(id)),
      ['setup'],
    )

    // The palette finds a topic by a part of its name. It takes the keys that follow at once, also in a new visit.
    await page.reload()
    await settle(page)
    await press('Control+k')
    await page.keyboard.type('click')
    assert.equal(await page.getByRole('combobox').inputValue(), 'click')
    await page.getByRole('option', { name: NAMES.wide }).waitFor()
    await press('Enter')
    await arrive('topic')
    assert.equal(new URL(page.url()).pathname, `/topics/${NAMES.wide}`)

    // On a phone the navigation is a dialog, which closes when a page is chosen.
    const desk = page.viewportSize()!
    await resize(page, PHONE_WIDTH)
    await tabTo(page, 'Menu')
    await press('Enter')
    await page.getByRole('dialog', { name: 'Menu' }).waitFor()
    await tabTo(page, pages.groups.label)
    await press('Enter')
    await arrive('groups')
    assert.equal(await isDialogOpen(page), false)
    await page.setViewportSize(desk)

    // The keys are all in the help.
    await press('?')
    const help = page.getByRole('dialog', { name: 'Keys' })
    await help.waitFor()
    const listed = await help.locator('kbd').allInnerTexts()
    const own = entries.map(([, { shortcut }]) => `g ${shortcut}`)
    for (const keys of [...own, 'Ctrl K', '?', '/', 'r', 'Esc'])
      assert.ok(listed.includes(keys), `${keys} is not listed`)
    await press('Escape')

    // While somebody types, a key is a letter.
    await press('g', 't')
    await arrive('topics')
    await press('/')
    await page.keyboard.type('gc?r/')
    const filter = page.locator('main input[type=search]')
    assert.equal(await filter.inputValue(), 'gc?r/')
    assert.equal(new URL(page.url()).pathname, '/topics')
    assert.equal(await isDialogOpen(page), false)
    await press('Tab')

    // Switched off, the keys do nothing; Ctrl K still does.
    await press('?')
    await help.waitFor()
    await tabTo(page, 'Use single keys')
    await press('Space', 'Escape')
    await eventually('the help is closed', async () => !(await isDialogOpen(page)))
    await press('g', 'c', '?')
    assert.equal(new URL(page.url()).pathname, '/topics')
    assert.equal(await isDialogOpen(page), false)
    await press('Control+k')
    await page.getByRole('combobox').waitFor()
    assertQuiet()
  },
}

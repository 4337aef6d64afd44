// Walks over every page, tab and dialog of the console as an ADMIN and as a VIEWER, in both themes and at the widths of
// a phone, a tablet and a desk. It checks accessibility, overflow, that heading and verbs are in view, that the browser
// complains of nothing, the manners of dialogs, and that the controls fit the role.
//
// Every view is looked at in all widths for one role. The rules of accessibility are checked at one width and in one
// theme; the seed chooses them and the role, and the next view has others. The ADMIN opens the dialogs of every view.
// The VIEWER visits every page and tab, and opens the dialogs where the view is looked at for the VIEWER. A dialog that
// several views have is looked at once. `npm run console -- walk` looks at everything for both roles, in both themes
// and at all widths, and leaves pictures in .cache/console-screenshots.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { operations } from '../../console/api/operations.ts'
import { root } from '../../scripts/node24.mjs'
import { pages } from '../../src/api/pages.ts'
import { signInAt } from '../../testing/admin-client.ts'
import { AGENT_SETTINGS, agentAt } from '../../testing/agent-client.ts'
import { isLong } from '../../testing/at-length.ts'
import { noBrowser, openBrowser, overflow, resize, signIn, type Visit, violations, visit } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { closeWithManners, nameOf, type Opener, openDialog, openersOf, placeOfFocus } from './dialogs.ts'
import { adminOperations, WITHOUT_CONTROL } from './operations.ts'
import { oneOf } from './part.ts'
import { NAMES, seed } from './seeded.ts'
import { seedSchemas } from './seeded-schemas.ts'
import { seedTier } from './seeded-tier.ts'
import { openPages, pageStops, settle, stops } from './tour.ts'
import { ADMIN, startBare, startTieredWorld, type TieredWorld, VIEWER } from './world.ts'

const PICTURES = join(root, '.cache/console-screenshots')
const WIDTHS = [1440, 768, 360] as const
const THEMES = ['light', 'dark'] as const
type Theme = (typeof THEMES)[number]
/** The roles and themes, so that neighbours differ in both. */
const LOOKS = [
  { role: 'ADMIN', theme: 'light' },
  { role: 'VIEWER', theme: 'dark' },
  { role: 'ADMIN', theme: 'dark' },
  { role: 'VIEWER', theme: 'light' },
] as const
/** The width down to which text must flow without sideways scrolling (WCAG 1.4.10). */
const NARROWEST = 320
/** The only rules whose result a theme changes. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Controls of a kind that are pressed until one opens a dialog: in the user's own row a verb may lead elsewhere. */
const ENOUGH = 2

/** Dialogs that open on no page by one press, and the journey that opens them. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'Your session ended': 'session-expiry',
  'The credential of …': 'grant-and-credential',
  'Start at a group’s position': 'reset-offsets',
  'Save … of …': 'alter-config',
  'Some records of … remain': 'it needs a partition that does not answer',
}

/** Addresses of the tour that name what is not there. */
const MISSING = /^404 .*(no-such-(topic|group|subject)|ids\/999999999)/

const own = suiteCleanUp()

interface Look {
  /** The beginning of the paths of its pictures. */
  readonly picture: string
  /** The next turn has the next width. */
  readonly turn: number
  /** The only theme in which the rules of accessibility are checked. The long form has both. */
  readonly theme: Theme
  /** Only the dialog is checked: what lies under it was checked before. */
  readonly isDialog?: boolean
}

/** Looks at the page, or at the dialog over it, in the widths and themes. Returns what is wrong. */
async function look(page: Page, { picture, turn, theme, isDialog = false }: Look): Promise<readonly string[]> {
  const checked = { width: oneOf(WIDTHS, turn), theme }
  const inside = isDialog ? { inside: 'dialog[open]' } : {}
  const wrong: string[] = []
  const note = (where: string, found: readonly string[]) => wrong.push(...found.map(each => `${where}: ${each}`))
  const sideways = async (width: number) => {
    const pixels = await overflow(page)
    if (pixels > 0) wrong.push(`${width} px: ${pixels} px too wide`)
  }
  for (const width of WIDTHS) {
    await resize(page, width)
    await sideways(width)
    if (isDialog) note(`${width} px`, await actionsOutOfView(page))
    else if (width === WIDTHS.at(-1)) note(`${width} px`, await outOfView(page))
    for (const colorScheme of THEMES) {
      if (!isLong && (checked.width !== width || checked.theme !== colorScheme)) continue
      await page.emulateMedia({ colorScheme })
      const rules = colorScheme === 'dark' ? { rules: COLOUR_RULES } : {}
      note(`${width} px, ${colorScheme}`, await violations(page, { ...inside, ...rules }))
      if (isLong) await page.screenshot({ path: `${picture}-${width}-${colorScheme}.jpg`, type: 'jpeg', quality: 70 })
    }
    await page.emulateMedia({ colorScheme: 'light' })
  }
  await resize(page, NARROWEST)
  await sideways(NARROWEST)
  await resize(page, WIDTHS[0])
  return wrong
}

/** Returns the heading and the verbs of the page that do not begin in the window. */
function outOfView(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    scrollTo(0, 0)
    const wanted = [document.querySelector('main h1'), ...document.querySelectorAll('[data-page-actions] > *')]
    return wanted.flatMap(each => {
      const { top, bottom, left, right } = each.getBoundingClientRect()
      const isSeen = top >= 0 && left >= 0 && right <= innerWidth && (each.matches('h1') ? top : bottom) <= innerHeight
      return isSeen ? [] : ['not in view: ' + each.innerText.slice(0, 60)]
    })
  })()`)
}

/** Returns the buttons at the end of the open dialog that are not in the window without scrolling. */
function actionsOutOfView(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const buttons = [...document.querySelectorAll('dialog[open] [data-dialog-actions] > *')]
    return buttons.flatMap(each =>
      each.getBoundingClientRect().bottom <= innerHeight ? [] : ['not in view: ' + each.innerText.slice(0, 60)])
  })()`)
}

/** Returns the first control whose kind was not pressed often enough, and how often it was. */
function nextOf(openers: readonly Opener[], triesOf: (kind: string) => number) {
  const seen = new Map<string, number>()
  for (const { kind, button } of openers) {
    const before = seen.get(kind) ?? 0
    seen.set(kind, before + 1)
    const tries = triesOf(kind)
    if (tries < ENOUGH && before === tries) return { kind, button, tries }
  }
  return undefined
}

const fileOf = (name: string) => name.replaceAll(/[^\w]+/g, '-').toLowerCase()

interface Walk {
  /** Every operation that a control on the way names. */
  readonly controls: Set<string>
  /** Every address that a link on the way leads to. */
  readonly links: Set<string>
  readonly dialogs: Set<string>
  visit: Visit
}

const newWalk = (): Walk => ({ controls: new Set(), links: new Set(), dialogs: new Set(), visit: undefined as never })
const walks = { ADMIN: newWalk(), VIEWER: newWalk() }
/** The names of the dialogs that one of the roles has looked at. */
const looked = new Set<string>()

/** Looks at the open dialog, unless one of the roles has done it. */
async function lookAtDialog(page: Page, picture: string, name: string): Promise<readonly string[]> {
  if (looked.has(name) && !isLong) return []
  looked.add(name)
  return await look(page, { picture, turn: looked.size, theme: oneOf(THEMES, looked.size), isDialog: true })
}

/** Notes the controls and links that are there. */
async function collect({ visit: { page }, controls, links }: Walk): Promise<void> {
  const found = await page.evaluate<{ controls: string[]; links: string[] }>(`({
    controls: [...document.querySelectorAll('[data-operation]')].map(each => each.dataset.operation),
    links: [...document.querySelectorAll('a[href]')].map(each => each.href),
  })`)
  for (const control of found.controls) controls.add(control)
  for (const link of found.links) links.add(link)
}

describe('every page of the console', { skip: noBrowser }, () => {
  let browser: Browser
  let world: TieredWorld
  before(async () => {
    await rm(PICTURES, { recursive: true, force: true })
    await mkdir(PICTURES, { recursive: true })
    world = await startTieredWorld(own, 'embedded', AGENT_SETTINGS)
    await seed(world)
    await seedSchemas(world)
    await seedTier(world)
    const agent = agentAt(world.url)
    await agent.call('list_topics')
    await agent.call('describe_topic', { topic: NAMES.long })
    await agent.call('describe_topic', { topic: 'no-such-topic' })
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await own.run()
    if (isLong) console.log(`The pictures of all pages are in ${PICTURES}.`)
  })

  describe('as both roles', { concurrency: 2 }, () => {
    for (const user of [ADMIN, VIEWER]) {
      const walk = walks[user.role]
      // The two roles run side by side, each in a page of its own.
      describe(user.role, { concurrency: 1 }, () => {
        /** How often each kind of control was pressed. */
        const tried = new Map<string, number>()
        before(async () => {
          walk.visit = await visit(own, browser, world.url)
          const { page } = walk.visit
          page.on('request', request => {
            const isAsking =
              ['GET', 'HEAD'].includes(request.method()) ||
              // A round of the storage worker removes nothing that the next one would not.
              // A check of a schema stores nothing.
              /\/auth\/|\/storage\/worker\/run|\/check\?|[?&]dryRun=true|"(dryRun|validateOnly)":true/.test(
                `${request.url()}?${request.postData()}`,
              )
            if (!isAsking)
              (walk.visit.complaints as string[]).push(`the walk sent ${request.method()} ${request.url()}`)
          })
          await page.goto('/')
          await signIn(page, user.username, user.password)
          await page.getByRole('navigation', { name: 'Pages' }).waitFor()
        })

        for (const [row, { name, page: id, address }] of stops.entries()) {
          const { role, theme } = oneOf(LOOKS, row)
          const isLookedAt = isLong || role === user.role
          if (user === VIEWER && row >= pageStops.length && !isLookedAt) continue
          test(name, { timeout: 500_000 }, async () => {
            const { page, complaints, refusals } = walk.visit
            const before = { complaints: complaints.length, refusals: refusals.length }
            await page.goto(address)
            await settle(page)
            const picture = join(PICTURES, `${user.role}-${fileOf(name)}`)
            const wrong = isLookedAt ? [...(await look(page, { picture, turn: row, theme }))] : []
            await collect(walk)
            for (const width of user === ADMIN || isLookedAt ? [WIDTHS[0], WIDTHS[2]] : []) {
              await resize(page, width)
              for (;;) {
                const opener = nextOf(await openersOf(page), kind => tried.get(`${id} ${kind}`) ?? 0)
                if (opener === undefined) break
                const { kind, button, tries } = opener
                const dialog = await openDialog(page, () => button.click())
                tried.set(`${id} ${kind}`, dialog === null ? tries + 1 : ENOUGH)
                if (dialog === null) {
                  await page.goto(address)
                  await settle(page)
                  continue
                }
                const title = await nameOf(page)
                // At another width the page may be another one, so this is looked at first.
                const place = await placeOfFocus(page)
                if (place !== 'inside') wrong.push(`${title} (${kind}): the focus is ${place} when it opens`)
                walk.dialogs.add(title)
                await collect(walk)
                const looks = await lookAtDialog(page, `${picture}-dialog-${fileOf(title)}`, title)
                await resize(page, width)
                const found = [...looks, ...(await closeWithManners(page, dialog, button))]
                wrong.push(...found.map(each => `${title} (${kind}): ${each}`))
              }
            }
            await resize(page, WIDTHS[0])
            wrong.push(...complaints.slice(before.complaints))
            if (user.role === 'VIEWER')
              wrong.push(...refusals.slice(before.refusals).filter(each => !MISSING.test(each)))
            assert.deepEqual(wrong, [])
          })
        }

        test('what lies over every page', { timeout: 500_000 }, async () => {
          const { page } = walk.visit
          await page.goto('/')
          await settle(page)
          const wrong: string[] = []
          const openers = {
            account: page.getByRole('button', { name: /^Account and preferences/ }),
            palette: page.getByRole('button', { name: /^Go to, or do/ }),
            help: null,
            menu: page.getByRole('button', { name: 'Menu' }),
          }
          for (const [name, opener] of Object.entries(openers)) {
            const isMenu = name === 'menu'
            if (isMenu) await resize(page, 360)
            const dialog = await openDialog(page, () => (opener === null ? page.keyboard.press('?') : opener.click()))
            assert.ok(dialog !== null, name)
            const title = await nameOf(page)
            walk.dialogs.add(title)
            await collect(walk)
            assert.equal(await placeOfFocus(page), 'inside', name)
            const picture = join(PICTURES, `${user.role}-dialog-${name}`)
            const looks = await lookAtDialog(page, picture, title)
            if (isMenu) await resize(page, 360)
            const manners = await closeWithManners(page, dialog, (await opener?.elementHandle()) ?? null)
            wrong.push(...[...looks, ...manners].map(each => `${name}: ${each}`))
          }
          walk.visit.assertQuiet()
          assert.deepEqual(wrong, [])
        })
      })
    }
  })

  test('every dialog of the sources was open on the way of the ADMIN', () => {
    const sources = globSync('console/{pages,parts,shell}/**/*.tsx', { cwd: root })
    const titles = sources.flatMap(file =>
      [
        ...readFileSync(join(root, file), 'utf8').matchAll(
          /<(?:Dialog|Confirm)\b[^>]*?\btitle=(?:"([^"]+)"|\{`([^`]+)`)/g,
        ),
      ].map(([, plain, template]) => plain ?? template!.replaceAll(/\$\{[^}]+\}/g, '…')),
    )
    assert.ok(titles.length > 10)
    const seen = [...walks.ADMIN.dialogs]
    const isSeen = (title: string) => {
      const [first, ...rest] = title.split('…')
      return seen.some(each => each.startsWith(first!) && each.endsWith(rest.at(-1) ?? each))
    }
    assert.deepEqual(
      titles.filter(title => !isSeen(title) && !(title in ELSEWHERE)),
      [],
    )
  })

  test('a VIEWER sees no control of an operation that only an ADMIN may run, and an ADMIN sees each', async () => {
    const forAdmin = (controls: ReadonlySet<string>) => adminOperations.filter(each => controls.has(each))
    assert.deepEqual(forAdmin(walks.VIEWER.controls), [])
    const expected = adminOperations.filter(each => WITHOUT_CONTROL[each] === undefined)
    assert.deepEqual(forAdmin(walks.ADMIN.controls), expected)
  })

  test('the broker refuses a VIEWER each of these operations', async () => {
    const viewer = await signInAt(world.url, VIEWER.username, VIEWER.password)
    for (const operation of adminOperations) {
      const { method, path } = operations[operation]
      const body = method === 'GET' ? undefined : {}
      const { status } = await viewer.ask(method, path.replaceAll(/:\w+/g, 'orders'), body)
      assert.equal(status, 403, operation)
    }
  })

  test('every link on the way of a VIEWER leads somewhere', async () => {
    const viewer = await signInAt(world.url, VIEWER.username, VIEWER.password)
    const patterns = Object.values(pages).map(({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, '([^/]+)')}$`))
    const described = {
      topics: '/api/v1/topics/',
      groups: '/api/v1/groups/',
      schemas: '/api/v1/schemas/subjects/',
    }
    const dead: string[] = []
    for (const link of walks.VIEWER.links) {
      const { origin, pathname, search } = new URL(link)
      if (origin !== world.url) {
        dead.push(`another server: ${link}`)
        continue
      }
      const isApi = pathname.startsWith('/api/')
      if (!isApi && !patterns.some(pattern => pattern.test(pathname))) dead.push(`no page: ${link}`)
      const [, noun, name] = pathname.split('/')
      const path = isApi
        ? pathname + search
        : noun! in described && name !== undefined
          ? described[noun as 'topics'] + name
          : null
      if (path === null) continue
      const { status } = await fetch(world.url + path, { headers: { cookie: viewer.cookie } })
      if (status >= 400 && !path.includes('no-such-')) dead.push(`${status}: ${link}`)
    }
    assert.ok(walks.VIEWER.links.size > 20)
    assert.deepEqual(dead, [])
  })

  test('the pages that need no session', { timeout: 500_000 }, async () => {
    const bare = await startBare(own, 'embedded', { 'admin.bootstrap': false })
    for (const [row, id] of openPages.entries()) {
      const { page, assertQuiet } = await visit(own, browser, id === 'setup' ? bare.url : world.url)
      await page.goto(pages[id].path)
      await settle(page)
      assert.equal(new URL(page.url()).pathname, pages[id].path)
      assert.deepEqual(await look(page, { picture: join(PICTURES, id), turn: row, theme: oneOf(THEMES, row) }), [])
      assertQuiet()
    }
  })
})

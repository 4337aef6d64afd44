// Hostile texts in every place where the console shows a text of somebody else: no script runs, the security policy has
// nothing to report, nothing is wider than the window, and copying gives the exact bytes.
//
// The lists have all texts in every run. Of the pages that have one text each, the seed chooses some in each place; the
// next place has other texts. `npm run console -- hostile` has every text in every place.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { type PageId, pages, type Page as Row, SUBJECT_TABS } from '../../src/api/pages.ts'
import { eventually } from '../../testing/eventually.ts'
import { freePort } from '../../testing/free-port.ts'
import { startRealProvider } from '../sso/provider.ts'
import { noBrowser, openBrowser, overflow, resize, signIn, type Visit, visit } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import {
  HOSTILE,
  HOSTILE_TOPICS,
  hostileSchema,
  LONG_LINES,
  LONG_LINES_TOPIC,
  plant,
  RECORDS_TOPIC,
  TRAP,
  throughUtf8,
} from './hostile.ts'
import { partOf } from './part.ts'
import { commitAs, produceAs } from './seeded.ts'
import { addressOf, settle } from './tour.ts'
import { ADMIN, must, startWorld, type World } from './world.ts'

const WIDTHS = [1280, 360] as const

/** A long line is drawn within this time in ms, also on a busy machine. */
const LONG_LINE_WITHIN_MS = 60_000

describe('hostile texts in the console', { skip: noBrowser }, () => {
  const own = suiteCleanUp()
  let browser: Browser
  let world: World
  let visited: Visit
  let page: Page
  let groups: readonly string[] = []
  let subjects: readonly string[] = []
  before(async () => {
    world = await startWorld(own, 'embedded')
    const planted = await plant(world)
    groups = planted.groups
    subjects = planted.subjects
    console.log(
      `refused by the broker: ${[...new Set(planted.refused)].map(each => `${each} ×${planted.refused.filter(other => other === each).length}`).join(', ')}`,
    )
    browser = await openBrowser()
    visited = await visit(own, browser, world.url, { permissions: ['clipboard-read', 'clipboard-write'] })
    ;({ page } = visited)
    await page.addInitScript(`globalThis.${TRAP} = () => { globalThis.trapped = (globalThis.trapped ?? 0) + 1 }`)
    await page.goto('/')
    await signIn(page, ADMIN.username, ADMIN.password)
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  /** Visits an address and returns what is wrong there. */
  async function suffer(address: string): Promise<readonly string[]> {
    const begun = visited.complaints.length
    await page.goto(address)
    await settle(page)
    const wrong: string[] = []
    for (const width of WIDTHS) {
      await resize(page, width)
      const pixels = await overflow(page)
      if (pixels > 0) wrong.push(`${width} px: ${pixels} px too wide`)
    }
    await resize(page, WIDTHS[0])
    const found = await page.evaluate<{
      trapped?: number
      planted: number
      unseen: readonly string[]
      heading: string
    }>(`({
      // Such a character reorders or hides the text around it, unless it is in a mark.
      unseen: [...document.querySelectorAll('body :not(script, .hidden-mark, .hidden-mark *, pre, pre *, title)')].filter(element =>
        [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && /[\\p{Cc}\\u200B\\u202A-\\u202E\\u2066-\\u2069]/v.test(data.trim()))).map(element => element.outerHTML.slice(0, 200)),
      trapped: globalThis.trapped,
      planted: document.querySelectorAll('main :is(script, style, iframe, object, embed, [onerror], [onload], [onmouseover], [onfocus], a[href^="javascript:" i], a[href^="data:" i])').length,
      heading: document.querySelector('main h1').innerText,
    })`)
    if (found.trapped !== undefined) wrong.push('a script ran')
    wrong.push(...found.unseen.map(each => `hidden characters without a mark: ${each}`))
    if (found.planted > 0) wrong.push(`${found.planted} elements come from a text`)
    if (found.heading.trim() === '' || found.heading === 'This page cannot be shown')
      wrong.push(`heading: “${found.heading}”`)
    wrong.push(...visited.complaints.slice(begun))
    return wrong.map(each => `${address}: ${each}`)
  }

  /** Visits every address. One with work of its own does it there. */
  async function sufferAll(addresses: readonly (string | readonly [string, () => Promise<void>])[]): Promise<void> {
    const wrong: string[] = []
    for (const each of addresses) {
      const [address, work] = typeof each === 'string' ? [each] : each
      wrong.push(...(await suffer(address)))
      await work?.()
    }
    assert.deepEqual(wrong, [])
  }

  /** Presses a copy button and returns what is in the clipboard then. */
  async function copied(name: string | RegExp): Promise<string> {
    await page.evaluate('navigator.clipboard.writeText("")')
    await page.getByRole('button', { name }).first().click()
    await eventually(
      'something is copied',
      async () => (await page.evaluate<string>('navigator.clipboard.readText()')) !== '',
    )
    return await page.evaluate('navigator.clipboard.readText()')
  }

  test('on the pages that list them', { timeout: 500_000 }, () =>
    sufferAll([
      '/',
      addressOf('topics'),
      addressOf('groups'),
      addressOf('groups', { sort: 'groupId' }),
      addressOf('schemas'),
      addressOf('schemas', { tab: 'topics', all: true }),
      addressOf('brokers'),
      addressOf('storage'),
      addressOf('security', { tab: 'users' }),
      addressOf('security', { tab: 'acls' }),
      addressOf('security', { tab: 'credentials' }),
      addressOf('topic', { tab: 'access' }, { topic: RECORDS_TOPIC }),
      addressOf('topic', {}, { topic: RECORDS_TOPIC }),
      addressOf('messages', {}, { topic: RECORDS_TOPIC }),
    ]),
  )

  test('as names of topics', { timeout: 500_000 }, async () => {
    await sufferAll(
      HOSTILE_TOPICS.flatMap((topic, row) => [
        [addressOf('topic', {}, { topic }), async () => assert.equal(await copied('Copy topic name'), topic)] as const,
        ...partOf(
          [addressOf('topic', { tab: 'configuration' }, { topic }), addressOf('messages', {}, { topic })],
          row,
          2,
        ),
      ]),
    )
  })

  test('as ids of groups, of their clients and members', { timeout: 500_000 }, async () => {
    assert.ok(groups.length > 10)
    await sufferAll(
      // Every second group has members, and a third of the groups has some of both.
      partOf(groups).flatMap(group => [
        [addressOf('group', {}, { group }), async () => assert.equal(await copied('Copy group id'), group)] as const,
        addressOf('group', { tab: 'members' }, { group }),
      ]),
    )
  })

  // It loads a page for each subject and tab, more than any other of these tests.
  test('as names of subjects, and in their schemas', { timeout: 500_000 }, async () => {
    assert.ok(subjects.length > 10, subjects.join(' | '))
    await sufferAll(
      subjects.flatMap((subject, row) =>
        partOf(SUBJECT_TABS, row).map(tab => addressOf('subject', { tab }, { subject })),
      ),
    )
    await page.goto(addressOf('schemas', { tab: 'ids', id: 1 }))
    await settle(page)
    const press = async (subject: string, at: number) => {
      assert.equal(await copied('Copy subject name'), subject)
      await page.getByRole('button', { name: 'As stored' }).click()
      assert.deepEqual(JSON.parse(await copied(/^Copy schema$/)), JSON.parse(hostileSchema(subject)))
      // Every dialog names the subject in the same way.
      for (const verb of at < 3 ? ['New version', 'Level', 'Delete subject'] : ['Level']) {
        await page.getByRole('button', { name: verb, exact: true }).click()
        const dialog = page.locator('dialog[open]:not(:has([role=status][aria-label=Loading]))')
        await dialog.waitFor()
        assert.equal(await overflow(page), 0, verb)
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      }
    }
    await sufferAll(
      partOf([...subjects.entries()], 0, 2).map(([at, subject]) => [
        addressOf('subject', { version: 1 }, { subject }),
        () => press(subject, at),
      ]),
    )
  })

  test('as names that are typed to confirm', { timeout: 500_000 }, async () => {
    const wire = await world.connect()
    for (const [group, spelled] of [
      ['a\u200Bb', 'aU+200Bb'],
      ['\u202Eevil', 'U+202Eevil'],
      ['tab\tname', 'tabU+0009name'],
      ['two\nlines and \u0000', 'twoU+000Alines and U+0000'],
    ] as const) {
      await commitAs(wire, group, RECORDS_TOPIC, 3)
      const path = `/api/v1/groups/${encodeURIComponent(group)}`
      await page.goto(addressOf('group', {}, { group }))
      await page.getByRole('button', { name: 'Reset offsets' }).click()
      const dialog = page.locator('dialog[open]')
      await dialog.getByRole('radio', { name: 'Earliest' }).check()
      await dialog.getByRole('button', { name: 'Preview' }).click()
      await dialog.getByRole('button', { name: 'Continue' }).click()
      const typed = dialog.getByLabel(`Type ${spelled} to confirm`)
      const reset = dialog.getByRole('button', { name: 'Reset offsets' })
      await typed.pressSequentially(spelled.slice(0, -1))
      assert.ok(await reset.isDisabled(), spelled)
      await typed.pressSequentially(spelled.slice(-1))
      await reset.click()
      await page.getByRole('table', { name: 'The offsets after the reset' }).waitFor()
      assert.equal((await must(world.admin, 'GET', path)).positions[0].committedOffset, 0)
      await dialog.getByRole('button', { name: 'Close' }).last().click()

      // The copy button of the page has the name itself. A field keeps neither line ends nor NUL.
      const name = await copied('Copy group id')
      assert.equal(name, group)
      await page.getByRole('button', { name: 'Delete group' }).click()
      await typed.focus()
      await page.keyboard.press('Control+V')
      const remove = dialog.getByRole('button', { name: 'Delete group' })
      if ((await typed.inputValue()) !== name) await typed.fill(spelled)
      await remove.click()
      const toasts = page.locator('[role=status]').filter({ hasText: 'Deleted the group' })
      await toasts.waitFor()
      assert.ok((await toasts.locator('.hidden-mark').count()) > 0)
      assert.equal((await world.admin.ask('GET', path)).status, 404)
    }
  })

  test('in keys, values and headers of records', { timeout: 500_000 }, async () => {
    const views = ['value', 'key', 'headers', 'details'] as const
    const at = (offset: number, view: (typeof views)[number]) =>
      addressOf('messages', { at: `0-${offset}`, view }, { topic: RECORDS_TOPIC })
    const copy = async (offset: number, view: (typeof views)[number]) => {
      if (view !== 'value' && view !== 'key') return
      assert.equal(await copied(/^Copy$/), throughUtf8(HOSTILE[offset]!), `${view} of the record at ${offset}`)
    }
    await sufferAll(
      HOSTILE.flatMap((_, offset) =>
        partOf(views, offset, views.length).map(view => [at(offset, view), () => copy(offset, view)] as const),
      ),
    )
  })

  test('in one line of five million characters, of which only the part in view is drawn', {
    timeout: 500_000,
  }, async () => {
    for (const at of partOf([...LONG_LINES.keys()], 0, 2)) {
      await page.goto(addressOf('messages', { at: `0-${at}` }, { topic: LONG_LINES_TOPIC }))
      // If the first layout drew the whole line, the tab would stand still for minutes.
      await page.locator('[data-large-text] .cm-line').first().waitFor({ timeout: LONG_LINE_WITHIN_MS })
      await page.getByRole('button', { name: 'Raw', exact: true }).click({ timeout: LONG_LINE_WITHIN_MS })
      const drawn = await page.evaluate<number>(
        `document.querySelector('[data-large-text]').shadowRoot.querySelector('.cm-content').textContent.length`,
      )
      assert.ok(drawn > 1_000 && drawn < 100_000, `record ${at}: ${drawn} characters are drawn`)
    }
  })

  test('as numbers and times beyond every number and time, in addresses and in records', {
    timeout: 500_000,
  }, async () => {
    const numbers = [
      'NaN',
      '-1',
      '1e9',
      '0x10',
      '9007199254740991',
      '9007199254740993',
      '99999999999999999999',
      '8640000000000001',
    ]
    const names = ['offset', 'timestamp', 'partition', 'limit', 'cursor']
    const topic = RECORDS_TOPIC
    await sufferAll(
      numbers.flatMap((number, row) =>
        partOf(
          [
            ...names.map(name => `/topics/${topic}/messages?${name}=${number}`),
            `/topics/${topic}/messages?at=${number}`,
            `/topics/${topic}/messages?at=0-${number}&view=compare&pin=${number}-0`,
            `/topics?offset=${number}&sort=${number}`,
            `/groups/${encodeURIComponent(groups[0]!)}?offset=${number}&reset=true`,
            `/brokers/${number}`,
            `/security?offset=${number}`,
          ],
          row,
          6,
        ),
      ),
    )
    const wire = await world.connect()
    const longest = String(2n ** 63n - 1n)
    const configs = { 'message.timestamp.after.max.ms': longest, 'message.timestamp.before.max.ms': longest }
    await must(world.admin, 'POST', '/api/v1/topics', { name: 'times', partitions: 1, configs })
    const times = [2 ** 53, -(2 ** 53), 8.64e15, 8.64e15 + 1, -8.64e15, 253_402_300_800_000, -62_135_596_800_001]
    for (const timestamp of times) await produceAs(wire, 'times', 0, [{ key: 'k', value: 'v', timestamp }])
    await sufferAll([
      '/topics/times',
      '/topics/times/messages',
      ...partOf(times.map((_, at) => `/topics/times/messages?at=0-${at}&view=details`)),
      '/topics/times/messages?from=timestamp&timestamp=8640000000000000',
    ])
  })

  test('in every parameter of every address', { timeout: 500_000 }, async () => {
    const params: Record<string, string> = { topic: RECORDS_TOPIC, group: groups[0]!, broker: '0' }
    const addresses = (Object.entries(pages) as [PageId, Row][]).flatMap(([id, { search, isOpen }], row) =>
      isOpen === true
        ? []
        : partOf([HOSTILE[0], HOSTILE[4], HOSTILE[9]], row).map(text => {
            const base = addressOf(id, {}, params)
            return `${base}?${new URLSearchParams(Object.keys(search).map((name): [string, string] => [name, text]))}`
          }),
    )
    const strangers = HOSTILE.filter(text => !text.includes('..'))
      .map(throughUtf8)
      .flatMap((text, row) =>
        partOf(
          [
            `/topics/${encodeURIComponent(text)}`,
            `/topics/${encodeURIComponent(text)}/messages`,
            `/groups/${encodeURIComponent(`${text}?`)}`,
            `/brokers/${encodeURIComponent(text)}`,
          ],
          row,
          4,
        ),
      )
    await sufferAll([...addresses, ...strangers])
  })

  test('in what an identity provider and an address say to the sign-in', { timeout: 500_000 }, async t => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const provider = await startRealProvider(t, `${origin}/api/v1/auth/oidc/callback`, {})
    await startWorld(t, 'embedded', {
      'server.port': port,
      'admin.oauth.enabled': true,
      'admin.oauth.issuer-uri': provider.issuer,
      'admin.oauth.client-id': provider.client.id,
      'admin.oauth.client-secret': provider.client.secret,
      'admin.oauth.audience': provider.client.id,
      'admin.oauth.provider-name': HOSTILE[0],
      'admin.oauth.roles.admin-group': 'admins',
      'admin.oauth.roles.viewer-group': 'viewers',
    })
    const bare = await visit(t, browser, origin)
    await bare.page.addInitScript(`globalThis.${TRAP} = () => { globalThis.trapped = 1 }`)
    const ways = HOSTILE.flatMap((text, row) => {
      const said = new URLSearchParams({ error: text, error_description: text, state: text, code: text })
      const both = [`/login?${new URLSearchParams({ error: text, to: text })}`, `/api/v1/auth/oidc/callback?${said}`]
      return partOf(both, row, 2)
    })
    for (const to of ['//evil.example/x', '/\\evil.example', 'https://evil.example', '/\t/evil.example'])
      ways.push(`/login?${new URLSearchParams({ to })}`)
    for (const way of ways) {
      await bare.page.goto(way)
      await bare.page.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
      assert.equal(await bare.page.evaluate('globalThis.trapped'), undefined, way)
      assert.ok((await overflow(bare.page)) <= 0, way)
    }
    // The way back after the sign-in stays on this server.
    await signIn(bare.page, ADMIN.username, ADMIN.password)
    await bare.page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assert.equal(new URL(bare.page.url()).origin, origin)
    bare.assertQuiet()
  })
})

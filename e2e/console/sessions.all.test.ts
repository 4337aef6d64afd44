// Sessions of the console that end, change or are left in another tab, while requests wait: each change runs once, and
// only for the user who asked for it.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { noBrowser, openBrowser, signIn, visit, watch } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { ADMIN, must, startWorld, type World } from './world.ts'

const OTHER = Object.freeze({ username: 'olga', password: 'another administrator', role: 'ADMIN' })

describe('sessions of the console', { skip: noBrowser }, () => {
  const own = suiteCleanUp()
  let browser: Browser
  let world: World
  before(async () => {
    world = await startWorld(own, 'embedded')
    await must(world.admin, 'POST', '/api/v1/users', OTHER)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  /** Returns how often this user has created something, by the audit log. A check of a draft has the status 200. */
  const made = (verb: string, who: string) =>
    world.log().match(new RegExp(`svc\\.audit {2}${verb} who=${who} .*status=201`, 'g'))?.length ?? 0

  async function open(cleanUp: CleanUp, address: string): Promise<{ page: Page; context: BrowserContext }> {
    const { page } = await visit(cleanUp, browser, world.url)
    await page.goto(address)
    await signIn(page, ADMIN.username, ADMIN.password)
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    return { page, context: page.context() }
  }

  /** Asks to create a topic without a session: the sign-in opens over the page, and the change waits. */
  async function beginWithoutSession({ page, context }: { page: Page; context: BrowserContext }, topic: string) {
    await page.goto('/topics?create=true')
    const dialog = page.getByRole('dialog', { name: 'Create topic' })
    await dialog.getByLabel('Name', { exact: true }).fill(topic)
    await context.clearCookies()
    await dialog.getByRole('button', { name: 'Create topic' }).dblclick()
    const over = page.getByRole('dialog', { name: 'Your session ended' })
    await over.waitFor()
    return over
  }

  test('a change that waits for the sign-in runs once, however many requests wait with it', async t => {
    const opened = await open(t, '/topics')
    const { page } = opened
    const over = await beginWithoutSession(opened, 'once')
    // Each of these is refused too, and waits.
    for (let at = 0; at < 10; at++) await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    const begun = made('create topic', ADMIN.username)
    await over.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await over.getByRole('button', { name: 'Sign in' }).click()
    await over.waitFor({ state: 'hidden' })
    await eventually(
      'the topic is there',
      async () => (await world.admin.ask('GET', '/api/v1/topics/once')).status === 200,
    )
    // The broker writes its line with its answer, after the topic is there. The dialog closes with the answer.
    await page.getByRole('dialog', { name: 'Create topic' }).waitFor({ state: 'detached' })
    assert.equal(made('create topic', ADMIN.username) - begun, 1)
    assert.doesNotMatch(world.log(), /create topic who=\S+ .*name=once.*status=409/)
  })

  test('Escape does not close the sign-in over a page, however often', async t => {
    const opened = await open(t, '/topics')
    const over = await beginWithoutSession(opened, 'escaped')
    for (let press = 0; press < 5; press++) {
      await opened.page.keyboard.press('Escape')
      await over.waitFor()
    }
    // It is over the page, which cannot be used.
    assert.equal(await opened.page.evaluate("[...document.querySelectorAll('dialog')].at(-1).matches(':modal')"), true)
  })

  test('a change that waits does not run for another user who signs in', async t => {
    const opened = await open(t, '/topics')
    const { page } = opened
    const over = await beginWithoutSession(opened, 'of-ada')
    await over.getByLabel('Username').fill(OTHER.username)
    await over.getByLabel('Password', { exact: true }).fill(OTHER.password)
    await over.getByRole('button', { name: 'Sign in' }).click()
    await over.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: `Account and preferences: ${OTHER.username}` }).waitFor()
    assert.equal((await world.admin.ask('GET', '/api/v1/topics/of-ada')).status, 404)
    assert.equal(made('create topic', OTHER.username), 0)
    assert.equal(
      await page.getByRole('dialog', { name: 'Create topic' }).getByLabel('Name', { exact: true }).inputValue(),
      '',
    )
  })

  test('if another user signs in in another tab, the page begins anew for that user', async t => {
    const { page, context } = await open(t, '/topics?create=true')
    await page.getByRole('dialog', { name: 'Create topic' }).getByLabel('Name', { exact: true }).fill('draft-of-ada')
    await context.clearCookies()
    const second = watch(await context.newPage(), world.url).page
    await second.goto('/login')
    await signIn(second, OTHER.username, OTHER.password)
    await second.getByRole('navigation', { name: 'Pages' }).waitFor()
    await page.bringToFront()
    const name = page.getByRole('dialog', { name: 'Create topic' }).getByLabel('Name', { exact: true })
    await eventually('the draft is gone', async () => (await name.inputValue()) === '')
    await page.getByRole('button', { name: `Account and preferences: ${OTHER.username}` }).waitFor()
  })

  test('signing out in one tab removes from the others what they showed, and what waits never runs', async t => {
    await must(world.admin, 'POST', '/api/v1/topics', { name: 'seen-before', partitions: 1 })
    const opened = await open(t, '/topics')
    const { page, context } = opened
    await page.getByText('seen-before').first().waitFor()
    const second = watch(await context.newPage(), world.url).page
    await second.goto('/')
    await second.getByRole('button', { name: /^Account and preferences/ }).click()
    await second.getByRole('button', { name: 'Sign out' }).click()
    await second.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
    await page.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
    assert.equal((await page.content()).includes('seen-before'), false)
    await signIn(page, OTHER.username, OTHER.password)
    await page.getByText('seen-before').first().waitFor()
  })

  test('an answer that names the user and comes after signing out does not bring the user back', async t => {
    const { page } = await open(t, '/topics')
    await page.getByRole('button', { name: /^Account and preferences/ }).click()
    const held = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const late = Promise.withResolvers<void>()
    await page.route(
      '**/api/v1/auth/status',
      async route => {
        const response = await route.fetch()
        held.resolve()
        await left.promise
        await route.fulfill({ response })
        late.resolve()
      },
      { times: 1 },
    )
    // The heartbeat of the page.
    await held.promise
    await page.getByRole('button', { name: 'Sign out' }).click()
    const heading = page.getByRole('heading', { name: 'Sign in to Ketch' })
    await heading.waitFor()
    left.resolve()
    await late.promise
    // The next beat.
    await page.waitForRequest('**/api/v1/auth/status')
    await heading.waitFor()
    assert.equal(await page.getByRole('dialog', { name: 'Your session ended' }).count(), 0)
  })

  test('no secret stays in an address, in the storage of the browser, or in the page after signing out', async t => {
    const { page } = await open(t, '/security?tab=users&q=x')
    await page.getByRole('button', { name: /^Account and preferences/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in to Ketch' }).waitFor()
    const kept = await page.evaluate<string>(
      `JSON.stringify([location.href, Object.entries(localStorage), Object.entries(sessionStorage), document.documentElement.outerHTML,
        document.cookie, [...document.querySelectorAll('input')].map(input => input.value), performance.getEntriesByType('resource').map(({ name }) => name)])`,
    )
    assert.ok(!kept.includes(ADMIN.password))
    assert.ok(!kept.includes('svc-admin-session'))
    assert.doesNotMatch(kept, /eyJ[\w-]{10}/)
  })

  test('a page of another origin can neither frame the console nor speak to its tabs', async t => {
    const { page, context } = await open(t, '/topics')
    const evil = createServer((_request, response) => {
      const script = `const channel = new BroadcastChannel('ketch-session'); channel.postMessage('left')
        onload = () => { frames[0].postMessage('left', '*'); document.title = 'done' }`
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end(`<!doctype html><iframe src="${world.url}/topics?create=true"></iframe><script>${script}</script>`)
    }).listen(0, '127.0.0.1')
    await once(evil, 'listening')
    t.after(() => evil.close())
    const stranger = await context.newPage()
    await stranger.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`)
    await stranger.waitForFunction('document.title === "done"')
    assert.match(stranger.frames()[1]!.url(), /^chrome-error:/)
    await page.bringToFront()
    await page.getByRole('button', { name: 'Refresh now' }).click()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assert.equal(await page.getByRole('heading', { name: 'Sign in to Ketch' }).count(), 0)
    await stranger.close()
  })

  test('preferences that another program wrote into the browser break no page', async t => {
    const { page } = await open(t, '/')
    for (const stored of [
      { zone: 'No/Where' },
      { zone: 7, theme: {}, hiddenColumns: null, orders: 'x', hasShortcuts: 'yes' },
      { hiddenColumns: { Topics: 5 }, orders: { topics: {} } },
      [],
    ])
      for (const address of ['/', '/topics', '/groups']) {
        await page.evaluate(`localStorage.setItem('ketch-console', ${JSON.stringify(JSON.stringify(stored))})`)
        await page.goto(address)
        await page.locator('main h1').first().waitFor()
        await page.locator('body:not(:has([role=status][aria-label=Loading]))').waitFor()
        const heading = await page.locator('main h1').first().innerText()
        assert.notEqual(heading, 'This page cannot be shown', `${address} ${JSON.stringify(stored)}`)
      }
  })
})

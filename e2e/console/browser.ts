// Chromium for the tests of the console, and a page that notes everything that a user must never see: messages of the
// browser's console, refusals by the security policy, requests to other servers, errors of scripts.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { CleanUp } from '../../testing/broker.ts'

/**
 * The same version of Chromium as two programs. The first has no windows, tabs and menus of its own, so that it needs
 * about half of the processor time. Its package is chromium-headless-shell.
 */
const PROGRAMS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const program = PROGRAMS.find(path => existsSync(path))

/** Why these tests cannot run here; false if they can. */
export const noBrowser: string | false =
  program === undefined ? 'the web console in a browser: apt-get install chromium' : false

export function openBrowser(): Promise<Browser> {
  assert.ok(program !== undefined)
  return chromium.launch({ executablePath: program, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

export interface Visit {
  readonly page: Page
  /** Everything that should not have happened so far. */
  readonly complaints: readonly string[]
  /** The statuses of answers from 400 on, with their paths. */
  readonly refusals: readonly string[]
  /** Throws if there is a complaint. */
  assertQuiet(): void
}

/** Opens a page in a context of its own, which has its own cookies and its own preferences. */
export async function visit(
  cleanUp: CleanUp,
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1280, height: 800 }, ...options })
  // Waits end with their condition. On a busy machine a hash of a password alone may take seconds.
  context.setDefaultTimeout(30_000)
  cleanUp.after(() => context.close())
  return watch(await context.newPage(), url)
}

/**
 * Opens a page of a user who has signed in: `session` is the cookie, as name=value. So a journey begins at its subject.
 */
export async function visitAs(
  cleanUp: CleanUp,
  browser: Browser,
  url: string,
  session: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const visited = await visit(cleanUp, browser, url, options)
  const [name, value] = session.split('=', 2)
  await visited.page.context().addCookies([{ name: name!, value: value!, url }])
  return visited
}

/** Watches a page of the broker at `url`. */
export function watch(page: Page, url: string): Visit {
  const complaints: string[] = []
  const refusals: string[] = []
  page.on('console', message => {
    // The browser itself writes a line for each answer from 400 on; `refusals` has those.
    if (message.text().startsWith('Failed to load resource')) return
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', error => complaints.push(`script: ${error.message}`))
  page.on('dialog', dialog => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    const { origin, protocol } = new URL(request.url())
    if (origin !== new URL(url).origin && !['data:', 'blob:'].includes(protocol))
      complaints.push(`another server: ${request.url()}`)
  })
  page.on('response', response => {
    if (response.status() >= 400) refusals.push(`${response.status()} ${new URL(response.url()).pathname}`)
  })
  return {
    page,
    complaints,
    refusals,
    assertQuiet: () => assert.deepEqual(complaints, []),
  }
}

export async function signIn(page: Page, username: string, password: string): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** The rules of accessibility that hold for every page. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/**
 * Returns the violations of the rules of accessibility, one line each: of the page, or only of the part that `inside`
 * selects. `rules` narrows them to some of axe's rules.
 */
export async function violations(
  page: Page,
  { inside, rules }: { readonly inside?: string; readonly rules?: readonly string[] } = {},
): Promise<readonly string[]> {
  if (!(await page.evaluate<boolean>('typeof axe === "object"'))) await page.evaluate(await readAxe())
  const runOnly = rules === undefined ? TAGS : { type: 'rule', values: rules }
  // The builder of the package opens a second page for each analysis and takes ten times as long.
  const options = JSON.stringify({ runOnly, resultTypes: ['violations'], preload: false })
  const part = inside === undefined ? 'document' : JSON.stringify(inside)
  const found = await page.evaluate<readonly Violation[]>(
    `axe.run(${part}, ${options}).then(found => found.violations)`,
  )
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

let axe: Promise<string> | null = null

/** Reads the script that the package brings along. */
function readAxe(): Promise<string> {
  axe ??= readFile(createRequire(import.meta.resolve('@axe-core/playwright')).resolve('axe-core/axe.min.js'), 'utf8')
  return axe
}

/**
 * Resolves when a region that announces results has this text. Call it before the act whose result it is: some results
 * are there for a moment only, in which a busy machine may not ask the page.
 */
export async function announcement(page: Page, text: string): Promise<void> {
  await page.evaluate(`new Promise(done => {
    const look = () => {
      const regions = [...document.querySelectorAll('[role=status]')]
      if (!regions.some(each => each.textContent.includes(${JSON.stringify(text)}))) return
      observer.disconnect()
      done()
    }
    const observer = new MutationObserver(look)
    observer.observe(document, { subtree: true, childList: true, characterData: true })
    look()
  })`)
}

const HEIGHT = 800

/** The time in ms in which a page draws its next frames. On a busy machine the browser may draw none at all. */
const DRAWN_WITHIN_MS = 2_000

/** Gives the window this width. Resolves when the page has followed. */
export async function resize(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHT })
  await page.evaluate(`new Promise(done => {
    setTimeout(done, ${DRAWN_WITHIN_MS})
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))
  })`)
}

/** Returns the pixels by which the page, or the dialog over it, is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(`Math.max(...[document.documentElement, ...document.querySelectorAll('dialog[open]')].map(
    each => each.scrollWidth - Math.min(each.clientWidth, innerWidth)))`)
}

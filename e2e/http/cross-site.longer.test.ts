import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { chromium, type Page } from 'playwright-core'
import { adminClient } from '../../testing/admin-client.ts'
import { type CleanUp, startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { ADMIN_PASSWORD, roleSettings } from '../../testing/http-roles.ts'

const CHROMIUM = '/usr/bin/chromium'

const skip = existsSync(CHROMIUM) ? false : 'SKIPPED e2e/http cross-site: apt-get install chromium'

const USERS = '/api/v1/users'
const LOGOUT = '/api/v1/auth/logout'

/** Returns the request that creates a user, with any content type for the body. */
function making(username: string, type: string): RequestInit {
  const body = JSON.stringify({ username, password: 'correct horse battery', role: 'ADMIN' })
  return { method: 'POST', credentials: 'include', headers: { 'content-type': type }, body }
}

/** Returns the part of a response that the page may read, or the reason why it may not. */
function ask(page: Page, url: string, init: RequestInit): Promise<readonly unknown[]> {
  const script = `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
    async answer => [answer.type, answer.status, (await answer.text()).length > 0],
    error => [String(error)])`
  return page.evaluate(script)
}

/** The one field of a text/plain form: its name, an equals sign and its value together are JSON that creates a user. */
const JSON_FIELD = {
  name: '{"username":"by-text-form","role":"ADMIN","password":"correct horse ',
  value: ' battery"}',
}

/**
 * Starts another origin, whose page has one form for each way in which a form can send a request. Resolves to its
 * port.
 */
async function startEvil(cleanUp: CleanUp, url: string): Promise<number> {
  const input = (name: string, value: string) => `<input name='${name}' value='${value}'>`
  const forms = [
    [USERS, 'application/x-www-form-urlencoded', input('username', 'by-form') + input('password', ADMIN_PASSWORD)],
    [USERS, 'text/plain', input(JSON_FIELD.name, JSON_FIELD.value)],
    [LOGOUT, 'application/x-www-form-urlencoded', ''],
  ].map(
    ([path, type, inputs]) =>
      `<form method="post" action="${url}${path}" enctype="${type}">${inputs}<button>${type} ${path}</button></form>`,
  )
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>evil</title>${forms.join('')}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp.after(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

// Cookies ignore ports, so the browser sends the session from the first host. From the second SameSite=Lax prevents
// that.
for (const [host, site, isSessionThere] of [
  ['127.0.0.1', 'same-site', true],
  ['localhost', 'cross-site', false],
] as const) {
  test(`a ${site} page of another origin cannot act as the user who is signed in`, {
    skip,
    timeout: 60_000,
  }, async t => {
    const { url, log } = await startBroker(t, roleSettings, { hasHttp: true })
    const evil = `http://${host}:${await startEvil(t, url)}/`
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    })
    t.after(() => browser.close())
    const context = await browser.newContext()
    const page = await context.newPage()

    await page.goto(`${url}/login`)
    const login = JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD })
    const signedIn = { method: 'POST', headers: { 'content-type': 'application/json' }, body: login }
    assert.deepEqual(await ask(page, `${url}/api/v1/auth/login`, signedIn), ['basic', 200, true])
    const [cookie] = await context.cookies(url)
    assert.equal(cookie?.name, 'svc-admin-session')
    const admin = adminClient(url, `${cookie!.name}=${cookie!.value}`)
    const users = async () => {
      const { status, body } = await admin.ask('GET', USERS)
      return [status, body.users?.map(({ username }: { username: string }) => username)]
    }

    await page.goto(evil)
    const unreadable = ['TypeError: Failed to fetch']
    const opaque = ['opaque', 0, false]
    const bodyless: RequestInit = { method: 'POST', credentials: 'include' }
    const asked: readonly (readonly [path: string, init: RequestInit, answer: readonly unknown[]])[] = [
      // For JSON the browser only sends a preflight request, and never the request itself.
      [USERS, making('by-json', 'application/json'), unreadable],
      [USERS, making('by-text', 'text/plain'), unreadable],
      [USERS, { ...making('by-opaque-text', 'text/plain'), mode: 'no-cors' }, opaque],
      [LOGOUT, bodyless, unreadable],
      [LOGOUT, { ...bodyless, mode: 'no-cors' }, opaque],
    ]
    for (const [path, init, answer] of asked)
      assert.deepEqual(await ask(page, url + path, init), answer, JSON.stringify(init))
    assert.deepEqual(await users(), [200, ['admin']])

    for (const at of [0, 1, 2]) {
      await page.goto(evil)
      const answered = page.waitForResponse(response => response.url().startsWith(url))
      await page.locator('button').nth(at).click()
      const answer = await answered
      assert.equal(answer.status(), 403)
      const { cookie: sent, 'sec-fetch-site': from } = await answer.request().allHeaders()
      assert.deepEqual([from, sent !== undefined], [site, isSessionThere])
      const headers = Object.keys(await answer.allHeaders())
      assert.ok(!headers.some(name => name.startsWith('access-control-')), headers.join())
      await page.waitForURL(each => each.origin === url)
    }

    const audited = () =>
      [...log().matchAll(/svc\.audit {2}(create user|sign out) who=(\S+) .*status=(\d+ code=\S+)/g)].map(line =>
        line.slice(1).join(' '),
      )
    const refused = ['create user', 'create user', 'sign out', 'sign out', 'create user', 'create user', 'sign out']
    await eventually('a log line for each request', () => audited().length >= refused.length)
    assert.deepEqual(
      audited(),
      refused.map(what => `${what} null 403 code=CROSS_SITE`),
    )
    assert.deepEqual(await users(), [200, ['admin']])

    // From a page of the broker itself the same requests succeed.
    await page.goto(`${url}/login`)
    assert.deepEqual(await ask(page, url + USERS, making('by-json', 'application/json')), ['basic', 201, true])
    assert.deepEqual(await users(), [200, ['admin', 'by-json']])
    assert.deepEqual(await ask(page, url + LOGOUT, bodyless), ['basic', 204, false])
    assert.deepEqual(await users(), [401, undefined])
  })
}

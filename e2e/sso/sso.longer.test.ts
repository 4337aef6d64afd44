import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { startBroker } from '../../testing/broker.ts'
import { freePort } from '../../testing/free-port.ts'
import { ssoSettings, startRealProvider } from './provider.ts'

const CHROMIUM = '/usr/bin/chromium'
const skip = existsSync(CHROMIUM) ? false : `no ${CHROMIUM}: install the Debian package chromium`

const ADMIN = { username: 'admin', password: 'correct horse battery' } as const
const GROUPS = { ada: ['staff', 'ketch-admins'], vic: ['ketch-viewers'], eve: ['staff'] } as const

describe('single sign-on with a real provider and a real browser', { skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  })
  after(() => browser?.close())

  async function setUp(t: { after(fn: () => Promise<void>): void }) {
    const port = await freePort()
    // The host differs from the provider's, so the browser sees another site, with cookies of its own.
    const origin = `http://localhost:${port}`
    const provider = await startRealProvider(t, `${origin}/api/v1/auth/oidc/callback`, GROUPS)
    await startBroker(
      t,
      {
        'server.port': port,
        'admin.password': ADMIN.password,
        ...ssoSettings(provider),
      },
      { hasHttp: true },
    )
    const newPage = async () => {
      const context = await browser.newContext()
      t.after(() => context.close())
      return await context.newPage()
    }
    return { origin, provider, newPage }
  }

  /**
   * Goes from the broker to the provider's pages and back, as a person does. Resolves when the browser is at the
   * broker again.
   */
  async function signIn(page: Page, origin: string, username: string): Promise<void> {
    await page.goto(`${origin}/api/v1/auth/oidc/login?returnTo=${encodeURIComponent('/topics?q=orders')}`)
    await page.fill('input[name=login]', username)
    await page.fill('input[name=password]', 'any')
    await page.click('button[type=submit]')
    await page.click('button:has-text("Continue")')
    await page.waitForURL(url => url.origin === origin)
  }

  /** Returns the response that the page itself would get. */
  function ask(page: Page, path: string, init = {}): Promise<{ status: number; body: Record<string, unknown> }> {
    const script = `fetch(${JSON.stringify(path)}, ${JSON.stringify(init)}).then(async answer => ({
      status: answer.status, body: await answer.json() }))`
    return page.evaluate(script)
  }

  test('an ADMIN and a VIEWER sign in and come back to the page that they wanted', async t => {
    const { origin, newPage } = await setUp(t)
    for (const [username, role] of [
      ['ada', 'ADMIN'],
      ['vic', 'VIEWER'],
    ] as const) {
      const page = await newPage()
      await signIn(page, origin, username)
      assert.equal(page.url(), `${origin}/topics?q=orders`)
      const { body } = await ask(page, '/api/v1/auth/status')
      assert.deepEqual([body.user, body.role], [username, role])
      assert.deepEqual(body.sso, { enabled: true, label: 'SSO', href: '/api/v1/auth/oidc/login' })
      assert.equal((await ask(page, '/api/v1/brokers')).status, 200)
      const user = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
      assert.equal((await ask(page, '/api/v1/users', user)).status, role === 'ADMIN' ? 400 : 403)
      assert.equal(await page.evaluate('document.cookie'), '', 'no script sees a cookie')
      const cookies = await page.context().cookies(origin)
      assert.deepEqual(
        cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]),
        [['svc-admin-session', true, 'Lax']],
      )
    }
  })

  test('a user in neither group lands on the login page, without a session', async t => {
    const { origin, newPage } = await setUp(t)
    const page = await newPage()
    await signIn(page, origin, 'eve')
    assert.equal(page.url(), `${origin}/login?error=sso-no-role`)
    assert.equal((await ask(page, '/api/v1/brokers')).status, 401)
    assert.deepEqual(await page.context().cookies(origin), [])
  })

  test('a user who gives up at the provider lands on the login page', async t => {
    const { origin, newPage } = await setUp(t)
    const page = await newPage()
    await page.goto(`${origin}/api/v1/auth/oidc/login`)
    await page.click('a:has-text("Cancel")')
    await page.waitForURL(url => url.origin === origin)
    assert.equal(page.url(), `${origin}/login?error=sso-refused`)
    assert.equal((await ask(page, '/api/v1/brokers')).status, 401)
  })

  test('passwords work while the provider is down, and sessions that began with it continue', async t => {
    const { origin, provider, newPage } = await setUp(t)
    const federated = await newPage()
    await signIn(federated, origin, 'ada')
    await provider.stop()
    const page = await newPage()
    await page.goto(`${origin}/login`)
    const login = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(ADMIN) }
    assert.equal((await ask(page, '/api/v1/auth/login', login)).status, 200)
    assert.equal((await ask(page, '/api/v1/auth/status')).body.user, 'admin')
    assert.equal((await ask(federated, '/api/v1/brokers')).status, 200)
  })

  test('a broker that starts while the provider is down shows that on the login page, and nothing else fails', async t => {
    const { origin, provider, newPage } = await setUp(t)
    await provider.stop()
    const page = await newPage()
    await page.goto(`${origin}/api/v1/auth/oidc/login`)
    assert.equal(page.url(), `${origin}/login?error=sso-unavailable`)
    const login = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(ADMIN) }
    assert.equal((await ask(page, '/api/v1/auth/login', login)).status, 200)
  })
})

// Single sign-on with a real provider: a user of a group comes back to the page that was asked for, a user of none
// reads why not, and without the provider the password still works.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { freePort } from '../../../testing/free-port.ts'
import { ssoSettings, startRealProvider } from '../../sso/provider.ts'
import { signIn, type Visit, visit } from '../browser.ts'
import { ADMIN, startBare } from '../world.ts'
import type { Journey } from './journey.ts'

const GROUPS = { grace: ['staff', 'ketch-admins'], eve: ['staff'] } as const

/** The pages of the provider name a font of this server. */
const FONTS = 'https://fonts.googleapis.com'

/** Goes through the pages of the provider, as a person does. */
async function signInAtProvider(page: Page, username: string): Promise<void> {
  await page.fill('input[name=login]', username)
  await page.fill('input[name=password]', 'any')
  await page.click('button[type=submit]')
  await page.click('button:has-text("Continue")')
}

export const sso: Journey = {
  name: 'sso',
  async run({ t, browser, store }) {
    const port = await freePort()
    // The host differs from the provider's, so that the browser sees another site.
    const url = `http://localhost:${port}`
    const provider = await startRealProvider(t, `${url}/api/v1/auth/oidc/callback`, GROUPS)
    await startBare(t, store, {
      'server.port': port,
      'admin.username': ADMIN.username,
      'admin.password': ADMIN.password,
      ...ssoSettings(provider),
    })
    const visits: Visit[] = []
    const open = async (path: string) => {
      const visited = await visit(t, browser, url)
      visits.push(visited)
      // The pages of the provider would wait for it.
      await visited.page.route(`${FONTS}/**`, route => route.abort())
      await visited.page.goto(path)
      return visited.page
    }

    const page = await open('/topics?q=orders')
    await page.getByText('Sign in to see the page that you asked for.').waitFor()
    await page.getByRole('link', { name: 'SSO' }).click()
    await signInAtProvider(page, 'grace')
    await page.getByRole('heading', { name: 'Topics', level: 1 }).waitFor()
    assert.equal(page.url(), `${url}/topics?q=orders`)
    assert.equal(await page.getByLabel('Filter topics by name').inputValue(), 'orders')
    // The provider keeps the password, so that the console has nothing to change.
    await page.getByRole('button', { name: 'Account and preferences: grace' }).click()
    const account = page.getByRole('dialog', { name: 'Account and preferences' })
    await account.getByText('Your identity provider signs you in').waitFor()
    assert.equal(await account.getByRole('button', { name: 'Change password' }).count(), 0)
    await page.goto('/password')
    await page.getByText('There is nothing to change here.').waitFor()
    assert.equal(await page.getByLabel('New password', { exact: true }).count(), 0)

    const refused = await open('/')
    await refused.getByRole('link', { name: 'SSO' }).click()
    await signInAtProvider(refused, 'eve')
    await refused.getByText('Your account is in neither group that may use this console.').waitFor()
    assert.equal(new URL(refused.url()).pathname, '/login')

    await provider.stop()
    const local = await open('/login')
    await signIn(local, ADMIN.username, ADMIN.password)
    await local.getByRole('button', { name: `Account and preferences: ${ADMIN.username}` }).waitFor()
    // The session that began with the provider goes on without it.
    await page.reload()
    await page.getByText('There is nothing to change here.').waitFor()

    // The pages of the provider, and the font that they ask for, are not the console.
    const ofProvider = [provider.issuer, FONTS].map(server => `another server: ${server}/`)
    for (const { complaints } of visits)
      assert.deepEqual(
        complaints.filter(each => !ofProvider.some(start => each.startsWith(start))),
        [],
      )
  },
}

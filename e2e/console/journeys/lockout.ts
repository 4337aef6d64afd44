// Too many wrong passwords lock a name out: the form says so, counts down, and the right password works afterwards.

import assert from 'node:assert/strict'
import { eventually } from '../../../testing/eventually.ts'
import { signIn, visit } from '../browser.ts'
import { ADMIN, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

const FAILURES = 10

export const lockout: Journey = {
  name: 'lockout',
  async run({ t, browser, store }) {
    const { url } = await startWorld(t, store)
    const { page, assertQuiet } = await visit(t, browser, url)
    await page.goto('/')
    const password = page.getByLabel('Password', { exact: true })
    for (let attempt = 0; attempt < FAILURES; attempt++) {
      const answered = page.waitForResponse('**/api/v1/auth/login')
      await signIn(page, ADMIN.username, `wrong ${attempt}`)
      assert.equal((await answered).status(), 401)
      await page.getByText('The username or the password is wrong.').waitFor()
      await eventually('the field is empty', async () => (await password.inputValue()) === '')
    }
    await signIn(page, ADMIN.username, 'wrong again')
    await page.getByText('Too many attempts failed.').waitFor()
    const button = page.getByRole('button', { name: 'Sign in', exact: true })
    assert.equal(await button.isDisabled(), true)
    const seconds = async () => Number(/in (\d+) s/.exec(await page.getByText('Possible again in').innerText())![1])
    const first = await seconds()
    assert.ok(first > 0 && first <= 30, `counts down from ${first}`)
    await eventually('it counts', async () => (await seconds()) < first)

    // Another name is not locked out.
    await page.reload()
    await signIn(page, 'vic', 'only looking around')
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assertQuiet()
  },
}

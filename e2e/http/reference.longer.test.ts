import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { chromium } from 'playwright-core'
import { startBroker } from '../../testing/broker.ts'
import { ADMIN_PASSWORD, roleSettings } from '../../testing/http-roles.ts'

const CHROMIUM = '/usr/bin/chromium'

const skip = existsSync(CHROMIUM) ? false : 'SKIPPED e2e/http reference: apt-get install chromium'

test('the reference is shown under the policy of the server, without a message in the console', {
  skip,
  timeout: 60_000,
}, async t => {
  const { url } = await startBroker(t, roleSettings, { hasHttp: true })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  const context = await browser.newContext({ httpCredentials: { username: 'admin', password: ADMIN_PASSWORD } })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', error => complaints.push(error.message))
  await page.goto(`${url}/swagger-ui/index.html`)
  const operation = page.locator('#operations-topics-create-topic')
  await operation.waitFor()
  await operation.locator('.opblock-summary').click()
  await operation.getByText('Responses', { exact: true }).waitFor()
  assert.match((await operation.textContent())!, /TOPIC_ALREADY_EXISTS|UNAUTHENTICATED/)
  assert.equal(await page.getByRole('button', { name: 'Try it out' }).count(), 0)
  assert.deepEqual(complaints, [])
})

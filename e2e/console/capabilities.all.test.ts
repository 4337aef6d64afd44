// The console on brokers with other settings: without sign-in, and with each capability on, off or absent. Every page
// works, says why something is not there, and offers and asks for nothing that the broker does not have.
//
// Without sign-in the walk visits every page. With everything on it visits every second one, with everything off the
// others, and over TLS every fourth one; the seed chooses them. `npm run console -- capabilities` visits all of them.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { Capability } from '../../src/api/capabilities.ts'
import { AGENT_TABS, SCHEMA_TABS, STORAGE_TABS, SUBJECT_TABS } from '../../src/api/pages.ts'
import { CAPABILITIES } from '../../src/api/words.ts'
import type { Values } from '../../src/settings/settings.ts'
import { adminClient } from '../../testing/admin-client.ts'
import { startBroker } from '../../testing/broker.ts'
import { makeCertificate } from '../../testing/certificate.ts'
import { eventually } from '../../testing/eventually.ts'
import { noBrowser, openBrowser, signIn, type Visit, visit } from './browser.ts'
import { type Operation, operationOf } from './operations.ts'
import { partOf } from './part.ts'
import { NAMES, seed } from './seeded.ts'
import { addressOf, leave, pageStops, type Stop, settle } from './tour.ts'
import { ADMIN, ensureConsole, must, startTieredWorld, startWorld } from './world.ts'

/** The frame of each page asks for these. */
const OF_FRAME: ReadonlySet<Operation | null> = new Set<Operation>(['describe session', 'show capabilities'])

const OFF: Partial<Values> = { 'admin.message-export-enabled': false, 'schema-registry.enabled': false }

describe('the console on a broker with other settings', { skip: noBrowser }, () => {
  let browser: Browser
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser?.close())

  /** Visits the pages. Returns what is wrong, and the operations that controls name. */
  async function walk({ page, complaints, refusals }: Visit, stops: readonly Stop[]) {
    const wrong: string[] = []
    const controls = new Set<string>()
    for (const { name, address } of stops) {
      const before = [complaints.length, refusals.length] as const
      await page.goto(address)
      await settle(page)
      const found = await page.evaluate<string[]>(
        `[...document.querySelectorAll('[data-operation]')].map(each => each.dataset.operation)`,
      )
      for (const operation of found) controls.add(operation)
      if ((await page.getByText('This page cannot be shown').count()) > 0) wrong.push(`${name}: cannot be shown`)
      // A topic or group that is not there is said on its page.
      const refused = refusals.slice(before[1]).filter(each => !each.startsWith('404'))
      wrong.push(...[...complaints.slice(before[0]), ...refused].map(each => `${name}: ${each}`))
    }
    return { wrong, controls }
  }

  /** Checks the place where the pages speak of a capability; a text says why there is nothing to check here. */
  const PLACES: Readonly<Record<Capability['id'], ((page: Page, capability: Capability) => Promise<void>) | string>> = {
    tls: 'the commands have the security of the listener (commands.longer.test.ts)',
    sasl: async (page, { state }) => {
      await page.goto(addressOf('security', { tab: 'credentials' }))
      await page.getByRole('button', { name: 'New credential' }).first().click()
      await page.getByLabel('Mechanism').waitFor()
      const warning = page.getByText('No listener of this broker offers SCRAM-SHA-256, so that no client can use')
      assert.equal(await warning.count(), state === 'on' ? 0 : 1)
      await page.keyboard.press('Escape')
    },
    acls: async (page, { state, because }) => {
      await page.goto(addressOf('security', { tab: 'acls' }))
      await settle(page)
      await says(page, because, state !== 'on')
    },
    export: async (page, { state, because }) => {
      await page.goto(addressOf('messages', {}, { topic: NAMES.topic }))
      await settle(page)
      await says(page, because, state !== 'on')
      const links = await page.locator('main a[href*="/export"]').count()
      assert.equal(links > 0, state === 'on', `export is ${state}, and the page has ${links} links to it`)
    },
    'schema-registry': async (page, { state, because }) => {
      await page.goto(addressOf('messages', { decode: 'registry' }, { topic: NAMES.topic }))
      await settle(page)
      await says(page, because, state !== 'on')
      await offersNothing(
        page,
        [
          ...SCHEMA_TABS.map(tab => addressOf('schemas', { tab })),
          ...SUBJECT_TABS.map(tab => addressOf('subject', { tab })),
        ],
        { state, because },
        // The name of a subject can be copied.
        'main button:not([title="Copy subject name"])',
      )
    },
    'remote-tier': (page, capability) =>
      offersNothing(
        page,
        STORAGE_TABS.filter(each => each !== 'local' && each !== 'segments').map(tab => addressOf('storage', { tab })),
        capability,
      ),
    compaction: 'a new topic has its configs once its policy compacts (journeys/segments.ts)',
    mcp: (page, capability) =>
      offersNothing(
        page,
        AGENT_TABS.map(tab => addressOf('agents', { tab })),
        capability,
        // The settings that switch it on can be copied.
        'main button:not([title^="Copy command: "])',
      ),
  }

  /** Checks that the pages of a capability say why it is not there, and then have no button and ask for nothing. */
  async function offersNothing(
    page: Page,
    addresses: readonly string[],
    { state, because }: Pick<Capability, 'state' | 'because'>,
    buttons = 'main button',
  ): Promise<void> {
    const sent: (Operation | null)[] = []
    page.on('request', request => {
      if (request.url().includes('/api/')) sent.push(operationOf(request.method(), request.url()))
    })
    for (const address of addresses) {
      await leave(page)
      sent.length = 0
      await page.goto(address)
      await settle(page)
      await says(page, because, state !== 'on')
      if (state === 'on') continue
      assert.equal(await page.locator(buttons).count(), 0, `${address} has a button`)
      assert.deepEqual(
        sent.filter(each => !OF_FRAME.has(each)),
        [],
        `${address} asks for what is absent`,
      )
    }
  }

  async function says(page: Page, because: string | null, isExpected: boolean): Promise<void> {
    if (because === null) return assert.equal(isExpected, false)
    await eventually(`${page.url()} ${isExpected ? 'says' : 'does not say'} “${because}”`, async () => {
      const text = await page.locator('main').innerText()
      return text.includes(because) === isExpected
    })
  }

  async function checkCapabilities(page: Page, found: readonly Capability[]): Promise<void> {
    assert.deepEqual(found.map(({ id }) => id).toSorted(), CAPABILITIES.toSorted())
    for (const capability of found) {
      const place = PLACES[capability.id]
      if (typeof place !== 'string') await place(page, capability)
    }
    const labels = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()
    for (const { label, state } of found) if (state === 'absent') assert.ok(!labels.includes(label), label)
  }

  test('without sign-in every page works, and everybody is an administrator', { timeout: 180_000 }, async t => {
    ensureConsole()
    const broker = await startBroker(t, { topics: [], 'admin.security-enabled': false }, { hasHttp: true })
    const admin = adminClient(broker.url)
    // Users cannot be changed while there is no sign-in.
    await must(admin, 'POST', '/api/v1/topics', { name: NAMES.topic, partitions: 2 })
    const visited = await visit(t, browser, broker.url)
    const { wrong, controls } = await walk(visited, pageStops)
    assert.deepEqual(wrong, [])
    assert.ok(controls.has('create topic') && controls.has('create acl'), [...controls].join(', '))
    assert.equal(await visited.page.locator('[data-banner=open-access]').count(), 1)
    await visited.page.goto('/login')
    await visited.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await visited.page.getByRole('button', { name: /^Account and preferences/ }).click()
    await visited.page.getByRole('dialog').waitFor()
    assert.equal(await visited.page.getByRole('button', { name: 'Sign out' }).count(), 0)
  })

  for (const [row, state] of (['off', 'on'] as const).entries())
    test(`with everything ${state} that a setting switches`, { timeout: 180_000 }, async t => {
      const settings: Partial<Values> =
        state === 'off'
          ? OFF
          : {
              'broker.acl.enabled': true,
              'broker.sasl.enabled': true,
              'mcp.enabled': true,
              'mcp.token': 'a token of at least 32 characters',
            }
      // The members of the seeded groups speak without TLS and SASL, so these are on for a broker without members.
      const start = state === 'off' ? startWorld : startTieredWorld
      const world = await start(t, 'embedded', settings)
      if (state === 'off') await seed(world)
      else {
        await must(world.admin, 'POST', '/api/v1/topics', { name: NAMES.topic, partitions: 2 })
        const path = `/api/v1/topics/${NAMES.topic}/messages`
        await must(world.admin, 'POST', path, { messages: [{ value: { text: 'a record' } }] })
      }
      const { capabilities } = await must(world.admin, 'GET', '/api/v1/capabilities')
      const visited = await visit(t, browser, world.url)
      await visited.page.goto('/')
      await signIn(visited.page, ADMIN.username, ADMIN.password)
      await visited.page.getByRole('navigation', { name: 'Pages' }).waitFor()
      assert.deepEqual((await walk(visited, partOf(pageStops, row, 2))).wrong, [])
      await checkCapabilities(visited.page, capabilities)
      const others = capabilities.filter(
        (each: Capability) => each.setting !== null && each.state !== 'absent' && each.state !== state,
      )
      // TLS needs a certificate, which the next test has.
      const expected = state === 'off' ? [] : ['tls']
      assert.deepEqual(
        others.map(({ id }: Capability) => id),
        expected,
      )
      visited.assertQuiet()
    })

  test('over TLS on both ports', { timeout: 180_000 }, async t => {
    ensureConsole()
    const { certificateFile, keyFile } = await makeCertificate(t)
    const files = { 'server.tls': true, 'server.cert-file': certificateFile, 'server.key-file': keyFile }
    const listener = { 'broker.tls': true, 'broker.cert-file': certificateFile, 'broker.key-file': keyFile }
    const credentials = { 'admin.username': ADMIN.username, 'admin.password': ADMIN.password }
    const broker = await startBroker(t, { topics: [], ...credentials, ...files, ...listener }, { hasHttp: true })
    const visited = await visit(t, browser, broker.url, { ignoreHTTPSErrors: true })
    await visited.page.goto('/')
    await signIn(visited.page, ADMIN.username, ADMIN.password)
    await visited.page.getByRole('navigation', { name: 'Pages' }).waitFor()
    assert.deepEqual((await walk(visited, partOf(pageStops, 0, 4))).wrong, [])
  })

  test('the commands say what the files of a secure listener leave open', { timeout: 180_000 }, async t => {
    ensureConsole()
    const { certificateFile, keyFile } = await makeCertificate(t)
    const provider = { 'broker.sasl.oauth.issuer-uri': 'https://id.example', 'broker.sasl.oauth.audience': 'kafka' }
    const needs = [
      ['SCRAM-SHA-256', {}, /Replace <user> and <password> by those of a SASL credential/],
      ['OAUTHBEARER', provider, /Replace <client id>, <client secret> and <token endpoint>/],
    ] as const
    for (const [mechanism, settings, login] of needs) {
      const broker = await startBroker(
        t,
        {
          ...{ topics: [], 'admin.username': ADMIN.username, 'admin.password': ADMIN.password },
          ...{ 'broker.tls': true, 'broker.cert-file': certificateFile, 'broker.key-file': keyFile },
          ...{ 'broker.sasl.enabled': true, 'broker.sasl.mechanisms': [mechanism], 'broker.acl.enabled': true },
          ...settings,
        },
        { hasHttp: true },
      )
      const { page, assertQuiet } = await visit(t, browser, broker.url)
      await page.goto('/')
      await signIn(page, ADMIN.username, ADMIN.password)
      await page.getByRole('button', { name: "Kafka's tools" }).click()
      for (const address of [null, '/groups']) {
        if (address !== null) await page.goto(address)
        const list = page.getByRole('list').filter({ hasText: 'ca.pem is the certificate' })
        assert.match(await list.innerText(), login)
        assert.match(await list.innerText(), /This broker enforces ACLs/)
        const allows = page.getByText(/^export KAFKA_OPTS=.*allowed\.urls=<token endpoint>/)
        assert.equal(await allows.count(), mechanism === 'OAUTHBEARER' ? 1 : 0)
      }
      assertQuiet()
    }
  })
})

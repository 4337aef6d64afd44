// Resets of offsets that meet another change between the preview and the confirmation: a second reset of the same
// group, a consumer that joins, a topic that is deleted. The console applies exactly what its preview said, or nothing,
// and then says what has moved.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { leaveGroup } from '../../src/protocol/messages/leave-group.ts'
import { type AdminClient, signInAt } from '../../testing/admin-client.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { commit } from '../../testing/group-calls.ts'
import { noBrowser, openBrowser, type Visit, visitAs } from './browser.ts'
import { suiteCleanUp } from './clean-ups.ts'
import { append } from './records.ts'
import { joinAs } from './seeded.ts'
import { must, startWorld, type World } from './world.ts'

const TOPICS = ['orders', 'payments'] as const
const RECORDS = Array.from({ length: 10 }, (_, at) => ({ value: `${at}` }))
const SECOND = { username: 'olga', password: 'another administrator', role: 'ADMIN' }

const own = suiteCleanUp()

interface Tab {
  readonly visited: Visit
  readonly page: Page
  readonly dialog: Locator
  readonly confirm: Locator
  /** The statuses of the requests that may have reset offsets. */
  readonly statuses: readonly number[]
}

describe('a reset of offsets that meets another change', { skip: noBrowser, concurrency: 1 }, () => {
  let world: World
  let browser: Browser
  let second: AdminClient
  let groups = 0

  before(async () => {
    world = await startWorld(own, 'embedded')
    await must(world.admin, 'POST', '/api/v1/users', SECOND)
    second = await signInAt(world.url, SECOND.username, SECOND.password)
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
    await own.run()
  })

  /** Makes the topics, and a group that has committed 4 in each of their partitions. Resolves with its name. */
  async function makeGroup(): Promise<string> {
    const wire = await world.connect()
    const group = `billing-${groups++}`
    for (const name of TOPICS) {
      const isThere = (await world.admin.ask('GET', `/api/v1/topics/${name}`)).status === 200
      if (!isThere) {
        await must(world.admin, 'POST', '/api/v1/topics', { name, partitions: 2 })
        for (const partition of [0, 1]) await append(wire, name, partition, RECORDS)
      }
      await commit(wire, group, { 0: 4, 1: 4 }, name)
    }
    await wire.close()
    return group
  }

  /** Returns the committed offsets by partition. */
  async function offsetsOf(group: string): Promise<Readonly<Record<string, number | null>>> {
    const { positions } = await must(world.admin, 'GET', `/api/v1/groups/${group}`)
    return Object.fromEntries(
      positions.map((each: { topic: string; partition: number; committedOffset: number | null }) => [
        `${each.topic}-${each.partition}`,
        each.committedOffset,
      ]),
    )
  }

  /** Opens the group in a browser of its own, and goes as far as the button that applies the reset. */
  async function prepare(
    t: CleanUp,
    admin: AdminClient,
    group: string,
    { target, topic }: { readonly target: string; readonly topic?: string },
  ): Promise<Tab> {
    const visited = await visitAs(t, browser, world.url, admin.cookie)
    const { page } = visited
    const statuses: number[] = []
    page.on('response', response => {
      if (response.request().method() !== 'POST' || !response.url().endsWith('/offsets/reset')) return
      if (response.request().postDataJSON().dryRun !== true) statuses.push(response.status())
    })
    await page.goto(`/groups/${group}`)
    await page.getByRole('button', { name: 'Reset offsets' }).click()
    const dialog = page.getByRole('dialog', { name: `Reset offsets of ${group}` })
    if (topic !== undefined) {
      await dialog.getByRole('radio', { name: 'One topic' }).check()
      await dialog.getByLabel('Topic', { exact: true }).selectOption(topic)
    }
    await dialog.getByRole('radio', { name: target }).check()
    await dialog.getByRole('button', { name: 'Preview' }).click()
    const tab = { visited, page, dialog, confirm: dialog.getByRole('button', { name: 'Reset offsets' }), statuses }
    await goOn(tab, group)
    return tab
  }

  /** Goes from the preview to the button. */
  async function goOn({ dialog }: Pick<Tab, 'dialog'>, group: string): Promise<void> {
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByLabel(`Type ${group} to confirm`).fill(group)
  }

  const refused = ({ dialog }: Tab, text: string | RegExp) =>
    dialog.getByRole('alert').filter({ hasText: text }).first().waitFor()

  const all = (offset: number) =>
    Object.fromEntries(TOPICS.flatMap(name => [0, 1].map(at => [`${name}-${at}`, offset])))

  for (const [who, targets] of [
    ['one admin', ['Earliest', 'Latest']],
    ['two admins', ['Latest', 'Latest']],
  ] as const)
    test(`two tabs of ${who} apply at the same time: one reset happens, the other is told what moved`, async t => {
      const group = await makeGroup()
      const admins = [world.admin, who === 'one admin' ? world.admin : second]
      const tabs = await Promise.all(targets.map((target, at) => prepare(t, admins[at]!, group, { target })))
      await Promise.all(tabs.map(({ confirm }) => confirm.click()))
      await eventually('both were answered', async () => tabs.every(({ statuses }) => statuses.length === 1))
      assert.deepEqual(tabs.map(({ statuses }) => statuses[0]).sort(), [200, 409])
      const won = tabs.findIndex(({ statuses }) => statuses[0] === 200)
      const set = targets[won] === 'Earliest' ? 0 : 10
      await tabs[won]!.page.getByText(`Reset 4 offsets of ${group}.`).waitFor()
      const loser = tabs[1 - won]!
      await refused(loser, 'Nothing was written: the group has moved in 4 partitions since the preview before.')
      assert.equal(await loser.dialog.locator('[data-changed]', { hasText: 'committed was 4' }).count(), 4)
      assert.deepEqual(await offsetsOf(group), all(set))

      // The second user has seen the new preview and still wants the reset.
      await goOn(loser, group)
      await loser.confirm.click()
      await loser.page.getByText(`Reset 4 offsets of ${group}.`).waitFor()
      assert.deepEqual(await offsetsOf(group), all(targets[1 - won] === 'Earliest' ? 0 : 10))
      for (const { visited } of tabs) visited.assertQuiet()
    })

  test('if another tab has cleared all offsets, nothing is written, and the gone partitions are named', async t => {
    const group = await makeGroup()
    const late = await prepare(t, second, group, { target: 'Earliest' })
    const early = await prepare(t, world.admin, group, { target: 'Clear' })
    await early.confirm.click()
    await early.page.getByText(`Reset 4 offsets of ${group}.`).waitFor()
    await late.confirm.click()
    await refused(
      late,
      'Nothing was written: the group has moved in 4 partitions since the preview before. The group no longer has a position in orders (0–1), payments (0–1).',
    )
    assert.equal(await late.dialog.getByRole('button', { name: 'Continue' }).count(), 0)
    assert.deepEqual(late.statuses, [409])
    assert.deepEqual(await offsetsOf(group), {})
  })

  test('a consumer that joins after the preview keeps its offsets, and is named', async t => {
    const group = await makeGroup()
    const tab = await prepare(t, world.admin, group, { target: 'Earliest' })
    const wire = await world.connect()
    await joinAs(wire, group, 'orders', 'the-late-consumer', 'late-1')
    await tab.confirm.click()
    await refused(tab, 'Nothing was written: a member has joined the group since the preview before.')
    await refused(tab, /with 1 member\. Stop its consumers first\./)
    await tab.dialog.getByText('the-late-consumer at 127.0.0.1').waitFor()
    assert.equal(await tab.dialog.getByRole('button', { name: 'Continue' }).count(), 0)
    assert.deepEqual(tab.statuses, [409])
    assert.deepEqual(await offsetsOf(group), all(4))

    const members = [{ memberId: '', groupInstanceId: 'late-1' }]
    await wire.send(leaveGroup, 3, { groupId: group, members })
    await tab.dialog.getByRole('button', { name: 'Preview again' }).click()
    await goOn(tab, group)
    await tab.confirm.click()
    await tab.page.getByText(`Reset 4 offsets of ${group}.`).waitFor()
    assert.deepEqual(await offsetsOf(group), all(0))
    tab.visited.assertQuiet()
  })

  const remaining = { 'orders-0': 4, 'orders-1': 4 }

  test('a topic that is deleted after the preview of all partitions is named, and no other topic is reset', async t => {
    const group = await makeGroup()
    const tab = await prepare(t, world.admin, group, { target: 'Earliest' })
    await must(world.admin, 'DELETE', '/api/v1/topics/payments')
    await tab.confirm.click()
    await refused(
      tab,
      'Nothing was written: the group has moved in 2 partitions since the preview before. The group no longer has a position in payments (0–1).',
    )
    assert.deepEqual([tab.statuses, await offsetsOf(group)], [[409], remaining])
    await goOn(tab, group)
    await tab.confirm.click()
    await tab.page.getByText(`Reset 2 offsets of ${group}.`).waitFor()
    assert.deepEqual(await offsetsOf(group), { 'orders-0': 0, 'orders-1': 0 })
  })

  test('if the only topic of a preview is deleted, the user chooses again', async t => {
    const group = await makeGroup()
    const tab = await prepare(t, world.admin, group, { target: 'Earliest', topic: 'payments' })
    await must(world.admin, 'DELETE', '/api/v1/topics/payments')
    await tab.confirm.click()
    await refused(tab, 'Nothing was written: the broker no longer takes the preview, and cannot make a new one.')
    await refused(tab, 'There is no topic payments.')
    assert.deepEqual([tab.statuses, await offsetsOf(group)], [[409], remaining])

    // The topic is no longer offered, and no other one is chosen in its place.
    const choice = tab.dialog.getByLabel('Topic', { exact: true })
    await choice.locator('option', { hasText: 'payments' }).waitFor({ state: 'detached' })
    assert.deepEqual(await choice.locator('option').allInnerTexts(), ['Choose a topic', 'orders'])
    await tab.dialog.getByRole('button', { name: 'Preview' }).click()
    await refused(tab, 'Choose a topic.')
    await choice.selectOption('orders')
    await tab.dialog.getByRole('button', { name: 'Preview' }).click()
    await goOn(tab, group)
    await tab.confirm.click()
    await tab.page.getByText(`Reset 2 offsets of ${group}.`).waitFor()
    assert.deepEqual(await offsetsOf(group), { 'orders-0': 0, 'orders-1': 0 })
  })

  test('a topic of the same name that was created after the preview is not reset unseen', async t => {
    const group = await makeGroup()
    const tab = await prepare(t, world.admin, group, { target: 'Latest', topic: 'payments' })
    await must(world.admin, 'DELETE', '/api/v1/topics/payments')
    await must(world.admin, 'POST', '/api/v1/topics', { name: 'payments', partitions: 2 })
    await tab.confirm.click()
    await refused(tab, 'Nothing was written: the group has moved in 2 partitions since the preview before.')
    assert.equal(await tab.dialog.locator('[data-changed]', { hasText: 'committed was 4' }).count(), 2)
    assert.deepEqual([tab.statuses, await offsetsOf(group)], [[409], remaining])
    tab.visited.assertQuiet()
  })
})

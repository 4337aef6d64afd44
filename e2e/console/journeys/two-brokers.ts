// Two brokers on one Redis: the consoles of both show the same sums, on the overview and on the list of topics, and
// name a broker that has stopped.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { metadata } from '../../../src/protocol/messages/metadata.ts'
import { signInAt } from '../../../testing/admin-client.ts'
import { eventually } from '../../../testing/eventually.ts'
import { startBrokerProcess } from '../../../testing/process.ts'
import { startRedis } from '../../../testing/redis.ts'
import { createTopicOfAll } from '../../../testing/topic.ts'
import { connect, type Wire } from '../../../testing/wire.ts'
import { visitAs } from '../browser.ts'
import { append } from '../records.ts'
import { ADMIN, startBare } from '../world.ts'
import type { Journey } from './journey.ts'

const IDS = [1, 2] as const
/** The records of one burst in a partition of each broker. */
const BURST = [30, 70] as const
const INTERVAL_MS = 2_000
/** A burst of both brokers as a rate of one step. */
const RATE = '50'
/** Longer than the stopped broker is stopped. */
const EXPIRY_MS = 60_000
const SECRET = 'the same secret for both of the brokers'

/** Returns the number of an overview. */
function stat(page: Page, label: string): Promise<string> {
  return page.locator('dl > div').filter({ hasText: label }).locator('dd span').first().innerText()
}

/** Returns the cells of the topic in the list of topics. */
function cells(page: Page): Promise<readonly string[]> {
  return page.locator('tr[data-key=orders]').locator('th, td').allInnerTexts()
}

export const twoBrokers: Journey = {
  name: 'two-brokers',
  stores: ['redis'],
  async run({ t, browser }) {
    const { uri } = await startRedis(t)
    const one = await startBare(t, 'embedded', {
      'redis.uri': uri,
      'broker.id': IDS[0],
      'broker.expiry': EXPIRY_MS,
      'admin.metrics-history.interval': INTERVAL_MS,
      'admin.jwt.secret': SECRET,
      'admin.username': ADMIN.username,
      'admin.password': ADMIN.password,
    })
    const two = await startBrokerProcess(t, {
      settings: {
        'svc.redis.uri': uri,
        'svc.broker.id': String(IDS[1]),
        'svc.broker.expiry': `${EXPIRY_MS}ms`,
        'svc.admin.metrics-history.interval': `${INTERVAL_MS}ms`,
        'svc.admin.jwt.secret': SECRET,
      },
    })
    await createTopicOfAll(one, 'orders', 4, IDS)
    const wires: readonly Wire[] = await Promise.all([one, two].map(({ port }) => connect({ port })))
    t.after(async () => {
      for (const wire of wires) await wire.close()
    })
    const leadersOn = async (wire: Wire): Promise<readonly number[]> => {
      const { topics } = await wire.send(metadata, 9, { topics: [{ name: 'orders' }] })
      return topics[0]!.partitions.map(({ leaderId }) => leaderId)
    }
    const leaders = await leadersOn(wires[0]!)
    await eventually('both brokers know the topic', async () => `${await leadersOn(wires[1]!)}` === `${leaders}`)
    const led = IDS.map(id => leaders.indexOf(id))
    const burst = () =>
      Promise.all(
        wires.map((wire, at) => append(wire, 'orders', led[at]!, Array(BURST[at]!).fill({ value: 'record' }))),
      )

    const { cookie } = await signInAt(one.url, ADMIN.username, ADMIN.password)
    const open = async (url: string, path: string) => {
      const visited = await visitAs(t, browser, url, cookie)
      await visited.page.goto(path)
      return visited
    }
    const urls = [one.url, two.url]
    const overviews = await Promise.all(urls.map(url => open(url, '/')))
    const lists = await Promise.all(urls.map(url => open(url, '/topics')))
    const all = [...overviews, ...lists].map(({ page }) => page)
    const refresh = () => Promise.all(all.map(page => page.getByRole('button', { name: 'Refresh now' }).click()))
    for (const { page } of overviews) await page.getByText('Records in').waitFor()
    for (const { page } of lists) await page.locator('tr[data-key=orders]').waitFor()

    // A burst lies in one step of each broker. The lists show the newest step of each; the overviews the mean of some
    // steps, to which the brokers add different numbers.
    const heads = await lists[0]!.page.getByRole('columnheader').allInnerTexts()
    const recordsIn = heads.findIndex(head => head.startsWith('Records in'))
    const missing = new Set<string>(['the overviews', 'the lists'])
    await eventually(
      'both consoles show the sum of both brokers',
      async () => {
        await burst()
        const endMs = performance.now() + 2 * INTERVAL_MS
        while (performance.now() < endMs && missing.size > 0) {
          await refresh()
          const rates = await Promise.all(overviews.map(({ page }) => stat(page, 'Records in')))
          const rows = await Promise.all(lists.map(({ page }) => cells(page)))
          if (rates[0] === rates[1] && Number(rates[0]) > 0) missing.delete('the overviews')
          if (rows.every(row => row[recordsIn] === RATE)) missing.delete('the lists')
        }
        return missing.size === 0
      },
      60_000,
    )
    // Numbers that stay are the same everywhere.
    const connections = async () => await Promise.all(overviews.map(({ page }) => stat(page, 'Connections')))
    await eventually('both overviews show the connections of both', async () => {
      await refresh()
      const [first, second] = await connections()
      return first === second && Number(first) > wires.length
    })
    const sizes = heads.findIndex(head => head.startsWith('Local size'))
    await eventually('both lists show the size of all partitions', async () => {
      await refresh()
      const [first, second] = await Promise.all(lists.map(({ page }) => cells(page)))
      return first![sizes] === second![sizes] && /[1-9]/.test(first![sizes]!)
    })

    two.pause()
    const [overview, list] = [overviews[0]!.page, lists[0]!.page]
    await eventually(
      'the overview names the stopped broker',
      async () => {
        await overview.getByRole('button', { name: 'Refresh now' }).click()
        return (await overview.getByText(/The numbers of broker 2 are missing/).count()) > 0
      },
      15_000,
    )
    await eventually(
      'the list names it',
      async () => {
        await list.getByRole('button', { name: 'Refresh now' }).click()
        return (await list.getByText(/Without the traffic of broker 2/).count()) > 0
      },
      15_000,
    )
    await list.locator('tr[data-key=orders]').waitFor()
    two.resume()
    await eventually(
      'the list is whole again',
      async () => {
        await list.getByRole('button', { name: 'Refresh now' }).click()
        return (await list.getByText(/Without the traffic of broker/).count()) === 0
      },
      15_000,
    )
    for (const { complaints } of [...overviews, ...lists]) assert.deepEqual(complaints, [])
  },
}

// The commands that the empty pages show do what the pages say: each is copied from the page and runs in a shell, on
// the broker that shows it.

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { hasProgram } from '../../../testing/programs.ts'
import { toolsAbsence } from '../../tools/tools.ts'
import { visitAs } from '../browser.ts'
import { openCommandShell } from '../command-shell.ts'
import { ADMIN, must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

/** Kafka's tools need a JVM and its jars; the others are on every machine with the tests. */
const withoutKafkaTools = toolsAbsence()

/** Returns the commands that the page shows, in their order. */
function commandsOn(page: Page): Promise<readonly string[]> {
  return page.locator('main pre').allInnerTexts()
}

export const emptyPages: Journey = {
  name: 'empty-pages',
  // The commands know no store, and a JVM takes its time.
  stores: ['embedded'],
  skip: hasProgram('kcat') ? false : 'SKIPPED e2e/console: apt-get install kcat',
  async run({ t, browser, store }) {
    const { url, admin } = await startWorld(t, store)
    const shell = await openCommandShell(t, ADMIN.password)
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    const names = async (): Promise<readonly string[]> =>
      (await must(admin, 'GET', '/api/v1/topics')).topics.map(({ name }: { name: string }) => name)
    const countIn = async (topic: string): Promise<number> =>
      (await must(admin, 'GET', `/api/v1/topics/${topic}`)).records

    const groups = async (): Promise<readonly string[]> =>
      (await must(admin, 'GET', '/api/v1/groups')).groups.map(({ groupId }: { groupId: string }) => groupId)
    const deleteGroups = async () => {
      for (const group of await groups()) await must(admin, 'DELETE', `/api/v1/groups/${group}`)
    }

    // The first minute, with each tool.
    await page.goto('/')
    await page.getByRole('heading', { name: 'In a terminal' }).waitFor()
    const tools = ['ketch', 'kcat', ...(withoutKafkaTools === null ? ["Kafka's tools"] : [])]
    const topic = 'my-first-topic'
    for (const [at, tool] of tools.entries()) {
      await page.getByRole('button', { name: tool, exact: true }).click()
      const [produce, watch, create, ...others] = (await commandsOn(page)).toReversed()
      assert.deepEqual(others, [], 'the page shows a command for each step')
      assert.equal(create === undefined, at > 0, 'only the first tool has to create the topic')
      if (create !== undefined) {
        assert.deepEqual(await names(), [])
        await shell.run(create)
        assert.deepEqual(await names(), [topic])
        await page.locator('ol', { hasText: 'Produce a record, in a second' }).getByText(`${topic} is there`).waitFor()
      }
      // The command for ketch shows what comes after it began; it does not say when that is.
      let isSeen = false
      const watching = shell.run(watch!, /Hello from the terminal/).finally(() => (isSeen = true))
      do await shell.run(produce!)
      while (tool === 'ketch' && !isSeen)
      await watching
    }

    // An empty list of topics, an empty log, and no groups yet.
    await must(admin, 'DELETE', `/api/v1/topics/${topic}`)
    await page.goto('/topics')
    await page.getByText('No topics yet').waitFor()
    for (const command of await commandsOn(page)) {
      if (command.startsWith('kafka-') && withoutKafkaTools !== null) continue
      await shell.run(command)
      assert.deepEqual(await names(), ['my-topic'])
      await must(admin, 'DELETE', '/api/v1/topics/my-topic')
    }
    await must(admin, 'POST', '/api/v1/topics', { name: 'my-topic', partitions: 1 })
    await page.goto('/topics/my-topic/messages')
    await page.getByText('This log is empty').waitFor()
    const produced = await commandsOn(page)
    assert.equal(produced.length, 2)
    for (const [at, command] of produced.entries()) {
      await shell.run(command)
      assert.equal(await countIn('my-topic'), at + 1)
    }
    // The console consumer of Kafka's tools makes a group by itself.
    await deleteGroups()
    await page.goto('/groups')
    await page.getByText('No consumer groups yet').waitFor()
    for (const command of await commandsOn(page)) {
      if (command.startsWith('kafka-') && withoutKafkaTools !== null) continue
      await shell.run(command, /hello.*hello/s)
      assert.deepEqual(await groups(), ['my-group'])
      await deleteGroups()
    }

    // One record as a command of each tool, curl among them.
    await page.goto('/topics/my-topic/messages?at=0-1')
    await page.getByRole('button', { name: 'Copy as command' }).click()
    const dialog = page.getByRole('dialog', { name: 'Show this record from a terminal' })
    await dialog.locator('pre').first().waitFor()
    const shown: (readonly [label: string, text: string])[] = await Promise.all(
      (await dialog.locator('figure').all()).map(
        async each => [await each.locator('figcaption').innerText(), await each.locator('pre').innerText()] as const,
      ),
    )
    for (const [label, text] of shown) {
      const file = /: the file (?<name>.+)$/.exec(label)?.groups
      if (file !== undefined) await shell.write(file.name!, `${text.replace('<password>', ADMIN.password)}\n`)
      else if (label.endsWith(': once before')) await shell.run(text)
      else if (!text.startsWith('kafka-') || withoutKafkaTools === null) assert.match(await shell.run(text), /hello/)
    }
    assert.ok(shown.some(([label]) => label === 'curl'))
    assertQuiet()
  },
}

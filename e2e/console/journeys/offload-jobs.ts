// An operator looks after the offload: a job that failed is seen with its reason and retried, one that waits is
// cancelled and retried, and all failed ones are retried at once. The broker refuses a job that has changed meanwhile.
// A VIEWER sees the same, without the verbs.

import assert from 'node:assert/strict'
import { signInAt } from '../../../testing/admin-client.ts'
import { eventually } from '../../../testing/eventually.ts'
import { visitAs } from '../browser.ts'
import { free, makeDamaged, makeStuck, RECORDS, runUntil, seedTier, TIERED } from '../seeded-tier.ts'
import { must, startTieredWorld, VIEWER } from '../world.ts'
import type { Journey } from './journey.ts'

const JOBS = '/api/v1/storage/offload-jobs'

export const offloadJobs: Journey = {
  name: 'offload-jobs',
  async run({ t, browser, store }) {
    const world = await startTieredWorld(t, store)
    const { url, admin } = world
    await seedTier(world)
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    const viewer = await visitAs(t, browser, url, (await signInAt(url, VIEWER.username, VIEWER.password)).cookie)
    const jobOf = async (topic: string) => (await must(admin, 'GET', `${JOBS}?topic=${topic}`)).jobs[0]
    const last = RECORDS - 1

    // From the overview to the failed job.
    await page.goto('/')
    await page.locator('[data-remote]').getByText('2 segments').waitFor()
    await page.locator('[data-remote]').getByRole('link', { name: '1 job failed.' }).click()
    await page.getByRole('heading', { name: 'Storage', level: 1 }).waitFor()
    assert.match(page.url(), /\/storage\?tab=jobs&status=failed$/)
    const rows = page.getByRole('region', { name: 'Offload jobs' }).locator('tbody tr')
    await rows.getByText('suspended').waitFor()
    const text = await rows.innerText()
    for (const part of [`${TIERED.stuck} 0`, `0 – ${last}`, 'failed', 'a file has this name', '1 of 1'])
      assert.ok(text.includes(part), `${part} in ${text}`)
    await page.getByText('1 failed job is suspended').waitFor()

    // A job that waits is cancelled, once the dialog has said what that does.
    await page.getByRole('button', { name: 'pending 1' }).click()
    const name = `the job of ${TIERED.waiting} 0, offsets 0 – ${last}`
    await page.getByRole('button', { name: `Cancel ${name}` }).click()
    const cancelling = page.getByRole('dialog', { name: `Cancel ${name}` })
    await cancelling.getByText('The records stay in the local tier').waitFor()
    await cancelling.getByText('Copy as command').click()
    const { id } = await jobOf(TIERED.waiting)
    await cancelling.getByRole('region', { name: 'ketch' }).getByText(id).waitFor()
    await cancelling.getByRole('button', { name: 'Keep job' }).click()
    assert.equal((await jobOf(TIERED.waiting)).status, 'pending')
    await page.getByRole('button', { name: `Cancel ${name}` }).click()
    await cancelling.getByRole('button', { name: 'Cancel job' }).click()
    await page.getByText('Cancelled the job.').waitFor()
    await page.getByText('No job that is pending.').waitFor()
    assert.equal((await jobOf(TIERED.waiting)).status, 'cancelled')

    // A job that somebody else has retried meanwhile cannot be retried again: the broker says why.
    await page.getByRole('button', { name: 'cancelled 1' }).click()
    await page.getByRole('button', { name: `Retry ${name}` }).click()
    const retrying = page.getByRole('dialog', { name: `Retry ${name}` })
    await must(admin, 'POST', `${JOBS}/${id}/retry`)
    await retrying.getByRole('button', { name: 'Retry job' }).click()
    await retrying.locator('[data-problem=CONFLICT]').waitFor()
    await page.keyboard.press('Escape')
    await retrying.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'pending 1' }).click()
    await page.getByRole('button', { name: `Cancel ${name}` }).waitFor()

    // The failed job succeeds once its reason is gone.
    await free(world)
    await page.getByRole('button', { name: 'failed 1' }).click()
    await page.getByRole('button', { name: `Retry the job of ${TIERED.stuck} 0, offsets 0 – ${last}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry job' }).click()
    await page.getByText('The job is pending again.').waitFor()
    await runUntil(world, { done: 3, failed: 0 })
    await page.getByRole('button', { name: 'Refresh now' }).click()
    await page.getByRole('button', { name: 'done 3' }).waitFor()

    // Two failed jobs are retried at once, those of one topic first.
    const wire = await world.connect()
    const [one, other] = ['stuck-too', 'stuck-as-well']
    for (const topic of [one!, other!]) await makeStuck(world, wire, topic)
    await runUntil(world, { failed: 2 })
    for (const topic of [one!, other!]) await free(world, topic)
    await page.goto('/storage?tab=jobs')
    await page.getByLabel('Topic').fill(one!)
    await page.getByRole('button', { name: 'failed 1' }).waitFor()
    assert.match(page.url(), new RegExp(`topic=${one}`))
    await page.getByRole('button', { name: 'Retry all failed' }).click()
    const all = page.getByRole('dialog', { name: `Retry the failed jobs of ${one}` })
    await all.getByText('1 failed job is pending again, with all attempts.').waitFor()
    await all.getByRole('button', { name: 'Retry failed jobs' }).click()
    await page.getByRole('status').getByText('1 failed job is pending again.').first().waitFor()
    await page.getByLabel('Topic').fill('')
    await page.getByRole('button', { name: 'Retry all failed' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry failed jobs' }).click()
    await runUntil(world, { done: 5, failed: 0, pending: 1 })
    await page.getByRole('button', { name: 'Refresh now' }).click()
    await eventually('no job is left to retry', async () => {
      return (await page.getByRole('button', { name: 'Retry all failed' }).count()) === 0
    })

    // A job whose segment is damaged names the offset. Another program cannot reach into the memory of Redis.
    if (store === 'embedded') {
      await makeDamaged(world, wire, 'damaged')
      await runUntil(world, { failed: 1 })
      await page.goto('/storage?tab=jobs&status=failed')
      const records = page.getByRole('link', { name: `Records from offset ${RECORDS}` })
      assert.match((await records.getAttribute('href'))!, new RegExp(`/topics/damaged/messages\\?.*offset=${RECORDS}`))
    }

    await viewer.page.goto('/storage?tab=jobs')
    await viewer.page.getByRole('region', { name: 'Offload jobs' }).getByText('pending').waitFor()
    assert.equal(await viewer.page.locator('main [data-operation]').count(), 0)
    viewer.assertQuiet()
    assertQuiet()
  },
}

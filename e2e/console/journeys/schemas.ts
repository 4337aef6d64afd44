// A schema is registered behind a check: one that does not fit is explained and stored nowhere, one that fits becomes
// a version. Versions are compared, the level and the mode are changed, a referenced schema is not deleted, and a
// deletion needs the name. A VIEWER checks and changes nothing.

import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { signInAt } from '../../../testing/admin-client.ts'
import { eventually } from '../../../testing/eventually.ts'
import { visitAs } from '../browser.ts'
import { operationOf } from '../operations.ts'
import { JUDGED_TOPIC, MONEY_REFERENCE, payment, SUBJECTS, seedSchemas } from '../seeded-schemas.ts'
import { addressOf } from '../tour.ts'
import { must, startWorld, VIEWER } from '../world.ts'
import type { Journey } from './journey.ts'

const PATH = '/api/v1/schemas'
const CHANGING = /^(register|delete|set|reset) /

/** Writes the text into the editor of the dialog, in place of the one that is there. */
async function write(dialog: Locator, text: string): Promise<void> {
  const editor = dialog.getByRole('textbox', { name: 'Schema' })
  await editor.click()
  await editor.press('ControlOrMeta+A')
  await editor.page().keyboard.insertText(text)
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
}

export const schemas: Journey = {
  name: 'schemas',
  async run({ t, browser, store }) {
    const world = await startWorld(t, store)
    const { url, admin } = world
    await seedSchemas(world)
    const versionsOf = async (subject: string): Promise<readonly number[]> => {
      const found = await must(admin, 'GET', `${PATH}/subjects/${encodeURIComponent(subject)}`)
      return found.versions.map(({ version }: { readonly version: number }) => version)
    }

    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    const sent: string[] = []
    page.on('request', request => {
      if (!request.url().includes('/api/')) return
      const operation = operationOf(request.method(), request.url()) ?? ''
      if (CHANGING.test(operation) && !request.url().includes('dryRun=true')) sent.push(operation)
    })

    // From the list to the subject.
    await page.goto('/')
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Schemas' }).click()
    await heading(page, 'Schemas')
    await page.getByLabel('Filter subjects by name').fill('PAY')
    const rows = page.locator('tbody tr')
    await eventually('one subject is left', async () => (await rows.count()) === 1)
    assert.match(page.url(), /q=PAY/)
    assert.match(await rows.innerText(), /payments-value\s+Avro\s+3\s.*FULL_TRANSITIVE/s)
    await rows.getByRole('link', { name: SUBJECTS.main }).click()
    await heading(page, SUBJECTS.main)
    await page.getByRole('group', { name: 'Schema of version 3' }).getByText('"items"').first().waitFor()
    const copying = page.getByRole('button', { name: 'Copy subject name' })
    await copying.waitFor()

    // A schema that does not fit is explained, for each version, and nothing is sent that changes.
    await page.getByRole('button', { name: 'New version' }).click()
    const dialog = page.getByRole('dialog', { name: `New version of ${SUBJECTS.main}` })
    const register = dialog.getByRole('button', { name: 'Register', exact: true })
    const check = dialog.getByRole('button', { name: 'Check', exact: true })
    await dialog.getByRole('textbox', { name: 'Schema' }).getByText('"Payment"').waitFor()
    await page.getByRole('link', { name: `${SUBJECTS.money} · version 1` }).waitFor()
    assert.equal(await register.isDisabled(), true)
    await dialog.getByText('A check comes first.').waitFor()
    const strict = payment(3)
    strict.fields.push({ name: 'country', type: 'string' } as never)
    await write(dialog, JSON.stringify(strict))
    await check.click()
    await dialog.getByText(`It does not fit 2 versions of ${SUBJECTS.main}.`).waitFor()
    await dialog.getByText('The level FULL_TRANSITIVE compared it with versions 3, 1.').waitFor()
    for (const version of [3, 1]) {
      const reasons = dialog.getByRole('table', { name: `Reasons of version ${version}` })
      await reasons.getByText('READER_FIELD_MISSING_DEFAULT_VALUE').first().waitFor()
      assert.match(await reasons.innerText(), /\/fields\/\d.*country/s)
    }
    assert.equal(await register.isDisabled(), true)

    // Bad input is named: a text that is no schema, an empty one, a reference without a version.
    await write(dialog, '{"type":"record","name":"Payment","fields":[{"name":"id","type":"strin"}]}')
    await check.click()
    await dialog.getByText('This is not a valid schema of the type Avro.').waitFor()
    await dialog.locator('[data-check=bad]').getByText(/strin/).waitFor()
    await write(dialog, ' ')
    await check.click()
    await dialog.getByText('Type the text of the schema.').waitFor()
    const reference = dialog.getByLabel('Version 1', { exact: true })
    await reference.fill('latest')
    await check.click()
    await dialog.getByText('A reference has a name, a subject, and the number of a version.').waitFor()
    await reference.fill('1')
    assert.deepEqual(sent, [])

    // One that fits is registered; a change of the draft needs another check.
    const fitting = payment(3)
    fitting.fields.push({ name: 'country', type: 'string', default: 'DE' } as never)
    await write(dialog, JSON.stringify(fitting))
    await check.click()
    await dialog.getByText(`It fits. Registered, it becomes version 4 of ${SUBJECTS.main}.`).waitFor()
    assert.equal(await register.isDisabled(), false)
    await dialog.getByLabel('Normalize').check()
    assert.equal(await register.isDisabled(), true)
    await dialog.getByLabel('Normalize').uncheck()
    assert.deepEqual(await versionsOf(SUBJECTS.main), [3, 2, 1])
    await register.click()
    await page.getByText(`${SUBJECTS.main} has this schema as version 4, with the id`).waitFor()
    await page.getByRole('heading', { name: 'Version 4' }).waitFor()
    assert.deepEqual(await versionsOf(SUBJECTS.main), [4, 3, 2, 1])
    assert.deepEqual(sent.splice(0), ['register schema'])

    // Two versions are compared, and the address holds which.
    await page.getByRole('link', { name: 'Compare', exact: true }).first().click()
    await page.getByLabel('Before').selectOption('1')
    const difference = page.getByRole('group', { name: 'Differences' })
    await difference.getByText('Only in version 4:').first().waitFor()
    await page.getByText('Backward: version 4 reads all that version 1 writes.').waitFor()
    await page.getByText('Forward: version 1 reads all that version 4 writes.').waitFor()
    assert.match(page.url(), /against=1/)
    await page.getByRole('button', { name: 'Swap the versions' }).click()
    await difference.getByText('Only in version 4:').first().waitFor()
    await page.getByText('Backward: version 1 reads all that version 4 writes.').waitFor()

    // The level of the subject, then the global one again.
    await page.getByRole('button', { name: 'Level', exact: true }).click()
    const level = page.getByRole('dialog', { name: `Level of ${SUBJECTS.main}` })
    await level.getByLabel('Level', { exact: true }).selectOption('NONE')
    await level.getByText('A new version is compared with no other one.').waitFor()
    await level.getByRole('button', { name: 'Set level' }).click()
    await page.getByText(`The level of ${SUBJECTS.main} is NONE.`).waitFor()
    await page.getByRole('button', { name: 'Level', exact: true }).click()
    await level.getByRole('button', { name: 'Follow the global level' }).click()
    await page.getByText(`The level of ${SUBJECTS.main} is BACKWARD_TRANSITIVE.`).waitFor()
    const shown = await must(admin, 'GET', `${PATH}/subjects/${SUBJECTS.main}/level`)
    assert.deepEqual([shown.level, shown.origin], ['BACKWARD_TRANSITIVE', 'global'])

    // In the mode READONLY a schema that fits is not registered, and the dialog says why.
    await page.getByRole('button', { name: 'Mode', exact: true }).click()
    const mode = page.getByRole('dialog', { name: `Mode of ${SUBJECTS.main}` })
    await mode.getByLabel('Mode', { exact: true }).selectOption('READONLY')
    await mode.getByRole('button', { name: 'Set mode' }).click()
    await page.getByText(`The mode of ${SUBJECTS.main} is READONLY.`).waitFor()
    await page.getByRole('button', { name: 'New version' }).click()
    await write(dialog, JSON.stringify(payment(2)))
    await check.click()
    await dialog.getByText('It fits, and the mode READONLY refuses a registration here.').waitFor()
    assert.equal(await register.isDisabled(), true)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Mode', exact: true }).click()
    await mode.getByRole('button', { name: 'Follow the global mode' }).click()
    await page.getByText(`The mode of ${SUBJECTS.main} is READWRITE.`).waitFor()
    sent.length = 0

    // A schema that others refer to is not deleted: the dialog names them, and has no field for the name.
    await page.goto(addressOf('subject', { tab: 'references' }, { subject: SUBJECTS.money }))
    await page.getByRole('table', { name: 'Referrers of version 1' }).getByText(SUBJECTS.main).first().waitFor()
    await page.getByRole('button', { name: 'Delete subject' }).click()
    const kept = page.getByRole('dialog', { name: `Delete ${SUBJECTS.money}` })
    await kept.getByText(/schemas refer to shop\.Money, so that the broker refuses this\./).waitFor()
    await kept.getByText(`${SUBJECTS.main} · version 4`).waitFor()
    assert.equal(await kept.getByRole('textbox').count(), 0)
    assert.equal(await kept.getByRole('button', { name: 'Delete subject' }).isDisabled(), true)
    await kept.getByRole('button', { name: 'Cancel' }).click()

    // One version, then the subject: the preview names the topic, and only the name deletes.
    await page.goto(addressOf('subject', { version: 4 }, { subject: SUBJECTS.main }))
    await page.getByRole('button', { name: 'Delete version' }).click()
    const one = page.getByRole('dialog', { name: `Delete version 4 of ${SUBJECTS.main}` })
    await one.getByText('The other versions still judge the records of').waitFor()
    await one.getByLabel(`Type ${SUBJECTS.main} to confirm`).fill(SUBJECTS.main)
    await one.getByRole('button', { name: 'Delete version' }).click()
    await page.getByText(`Deleted version 4 of ${SUBJECTS.main}.`).waitFor()
    await page.getByRole('button', { name: 'Remove version' }).waitFor()

    await page.getByRole('button', { name: 'Delete subject' }).click()
    const whole = page.getByRole('dialog', { name: `Delete ${SUBJECTS.main}` })
    await whole.getByText('Without a live version the subject judges no records any more').waitFor()
    await whole.getByRole('link', { name: JUDGED_TOPIC, exact: true }).waitFor()
    const typed = whole.getByLabel(`Type ${SUBJECTS.main} to confirm`)
    const remove = whole.getByRole('button', { name: 'Delete subject' })
    for (const wrong of ['', 'payments', 'Payments-value']) {
      await typed.fill(wrong)
      assert.equal(await remove.isDisabled(), true, wrong)
    }
    assert.deepEqual(sent.splice(0), ['delete schema version'])
    await typed.fill(SUBJECTS.main)
    await remove.click()
    await page.getByText(`Deleted ${SUBJECTS.main}.`).waitFor()
    assert.deepEqual(await versionsOf(SUBJECTS.main), [4, 3, 2, 1], 'the versions are still there')

    // For good: the list no longer has it, and the id is still found.
    await page.getByRole('button', { name: 'Remove for good' }).click()
    const gone = page.getByRole('dialog', { name: `Remove ${SUBJECTS.main}` })
    await gone.getByText('This removes 4 versions for good.').waitFor()
    await gone.getByLabel(`Type ${SUBJECTS.main} to confirm`).fill(SUBJECTS.main)
    await gone.getByRole('button', { name: 'Remove subject' }).click()
    await heading(page, 'Schemas')
    await page.getByText(`Removed ${SUBJECTS.main} for good.`).waitFor()
    assert.equal((await admin.ask('GET', `${PATH}/subjects/${SUBJECTS.main}`)).status, 404)
    await page.getByRole('link', { name: 'Find by id' }).click()
    await page.getByLabel('Id of a schema').fill('2')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByText('No subject has it any more.').waitFor()
    await page.getByRole('group', { name: 'Schema 2' }).getByText('"Payment"').waitFor()
    await page.getByRole('link', { name: `${SUBJECTS.money} · version 1` }).waitFor()

    // A new subject from the list, whose topic shows it.
    await page.getByRole('button', { name: 'Register schema' }).click()
    const fresh = page.getByRole('dialog', { name: 'Register a schema' })
    await fresh.getByRole('button', { name: 'Check', exact: true }).click()
    await fresh.getByText('Type the name of a subject, such as orders-value.').waitFor()
    await fresh.getByLabel('Subject', { exact: true }).fill(`${JUDGED_TOPIC}-value`)
    await fresh.getByRole('button', { name: 'Add a reference' }).click()
    await fresh.getByLabel('Name 1').fill(MONEY_REFERENCE.name)
    await fresh.getByLabel('Subject 1').fill(MONEY_REFERENCE.subject)
    await write(fresh, JSON.stringify(payment(1)))
    await fresh.getByRole('button', { name: 'Check', exact: true }).click()
    await fresh.getByText(`It fits. Registered, it becomes version 1 of ${JUDGED_TOPIC}-value.`).waitFor()
    await fresh.getByRole('button', { name: 'Register', exact: true }).click()
    await heading(page, `${JUDGED_TOPIC}-value`)
    await page.getByRole('link', { name: 'Judged topics' }).click()
    await page.getByRole('link', { name: JUDGED_TOPIC, exact: true }).click()
    await heading(page, JUDGED_TOPIC)
    const rules = page.getByRole('table', { name: `Schemas of ${JUDGED_TOPIC}` })
    await rules.getByRole('link', { name: `${JUDGED_TOPIC}-value` }).waitFor()

    // A VIEWER checks, and has no button that changes anything.
    const { cookie } = await signInAt(url, VIEWER.username, VIEWER.password)
    const viewer = await visitAs(t, browser, url, cookie)
    await viewer.page.goto(addressOf('subject', {}, { subject: SUBJECTS.proto }))
    await viewer.page.getByRole('group', { name: 'Schema of version 2' }).getByText('message Click').waitFor()
    await viewer.page.getByRole('button', { name: 'Check schema' }).click()
    const checking = viewer.page.getByRole('dialog', { name: 'Check a schema' })
    await checking.getByRole('textbox', { name: 'Schema' }).getByText('message Click').waitFor()
    await checking.getByRole('button', { name: 'Check', exact: true }).click()
    await checking.getByText('Version 2 has this schema already').waitFor()
    const offered = await viewer.page
      .locator('[data-operation]')
      .evaluateAll(found => found.map(each => each.dataset.operation))
    assert.deepEqual([...new Set(offered)], ['check schema'])
    viewer.assertQuiet()
    assertQuiet()
  },
}

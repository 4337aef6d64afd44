// Records with schemas: each value has its badge and its schema, one is produced from JSON and one again, and JSON that
// does not fit its schema is refused at its field.

import assert from 'node:assert/strict'
import { eventually } from '../../../testing/eventually.ts'
import {
  ORDER_AVRO,
  ORDER_AVRO_BODY,
  ORDER_AVRO_TEXT,
  ORDER_PROTOBUF,
  REFUND_BODY,
  REFUND_INDEXES,
  registerAt,
} from '../../../testing/schema-formats.ts'
import { visitAs } from '../browser.ts'
import { append, readFrom } from '../records.ts'
import { must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

/** Values that are wrong on purpose get only into a topic that is not judged. */
const UNJUDGED = { 'confluent.value.schema.validation': 'false' }

const framed = (id: number, ...rest: readonly Uint8Array[]) => Buffer.concat([Buffer.from([0, 0, 0, 0, id]), ...rest])

export const recordsWithSchemas: Journey = {
  name: 'records-with-schemas',
  async run({ t, browser, store }) {
    const { url, admin, connect } = await startWorld(t, store)
    const avro = await registerAt(url, 'orders-value', 'AVRO', ORDER_AVRO)
    const protobuf = await registerAt(url, 'refunds-value', 'PROTOBUF', ORDER_PROTOBUF)
    await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 1, configs: UNJUDGED })
    const wire = await connect()
    const values = [
      framed(avro, ORDER_AVRO_BODY),
      Buffer.from('plain text'),
      framed(99, ORDER_AVRO_BODY),
      framed(avro, Buffer.from([1])),
      framed(protobuf, REFUND_INDEXES, REFUND_BODY),
    ]
    await append(
      wire,
      'orders',
      0,
      values.map(value => ({ key: null, value })),
    )
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)

    // The address names no decoding: the topic has a schema, and the page says so. A choice wins.
    const badges = page.locator('table [data-status]')
    await page.goto('/topics/orders/messages')
    const said = page.getByText('Values are decoded with the schemas of orders-value.')
    await said.waitFor()
    await badges.nth(4).waitFor()
    await page.getByText('9007199254740993').first().waitFor()
    assert.equal(await page.getByLabel('Decode as').inputValue(), 'registry')
    assert.equal(await page.getByLabel('Decode key as').locator('option:checked').innerText(), 'UTF-8')
    await page.getByLabel('Decode as').selectOption('utf8')
    await said.waitFor({ state: 'hidden' })
    await page.locator('table [data-status="raw"]').first().waitFor({ state: 'detached' })

    // The oldest record comes first until the user chooses the other order.
    const order = page.getByLabel('Order', { exact: true })
    const first = () => page.locator('tr[data-key]').first().getAttribute('data-key')
    assert.equal(await order.locator('option:checked').innerText(), 'Oldest first')
    assert.equal(await first(), '0-0')
    await order.selectOption('Newest first')
    await eventually('the newest record is on top', async () => (await first()) === '0-4')
    await order.selectOption('Oldest first')
    await eventually('the oldest record is on top', async () => (await first()) === '0-0')

    await page.goto('/topics/orders/messages?decode=registry')
    await page.locator('[data-record="0-4"], [data-status]').first().waitFor()
    await badges.nth(4).waitFor()
    assert.deepEqual(await badges.evaluateAll(all => all.map(each => each.getAttribute('data-status'))), [
      'decoded',
      'raw',
      'schema-not-found',
      'decode-error',
      'decoded',
    ])

    const record = page.locator('[data-record]')
    const open = async (offset: number) => {
      await page.goto(`/topics/orders/messages?decode=registry&at=0-${offset}`)
      await page.locator(`[data-record="0-${offset}"]`).waitFor()
    }
    await open(0)
    await record.getByRole('link', { name: 'orders-value v1' }).waitFor()
    assert.equal(await record.locator('[data-schema]').first().innerText(), `orders-value v1 · id ${avro} · Avro`)
    const ofId = await record.getByRole('link', { name: `id ${avro}`, exact: true }).getAttribute('href')
    assert.equal(ofId, `/schemas?tab=ids&id=${avro}`)
    await record.getByText('9007199254740993').waitFor()
    await open(4)
    const note = record.locator('[data-schema]').first()
    await note.waitFor()
    assert.equal(await note.innerText(), `refunds-value v1 · id ${protobuf} · Protobuf · shop.Refund`)
    await open(3)
    await record.locator('[data-status="decode-error"] button').focus()
    await page
      .getByRole('tooltip')
      .getByText(/It is not what the schema \d says: at byte 1, field "note"/)
      .waitFor()

    await open(4)
    await record.getByRole('button', { name: 'Produce again' }).click()
    const again = page.getByRole('dialog', { name: 'Produce again to orders' })
    await again.waitFor()
    assert.equal(await again.getByLabel('Schema of value').inputValue(), String(protobuf))
    assert.equal(await again.getByLabel('Message of value').inputValue(), 'shop.Refund')
    await again.getByRole('button', { name: 'Produce', exact: true }).click()
    await page.getByText('Produced to partition 0 at offset 5.').waitFor()
    await again.waitFor({ state: 'hidden' })

    await page.goto('/topics/orders?produce=true')
    const dialog = page.getByRole('dialog', { name: 'Produce to orders' })
    const withSchema = dialog
      .getByRole('group', { name: 'Form of Value' })
      .getByRole('button', { name: 'JSON with a schema', pressed: true })
    await withSchema.waitFor()
    assert.equal(await dialog.getByLabel('Schema of value').inputValue(), 'orders-value')
    // A datalist is not drawn until the field opens it, but its options are there.
    await dialog.locator('datalist option[value="orders-value"]').waitFor({ state: 'attached' })
    const send = dialog.getByRole('button', { name: 'Produce', exact: true })
    await dialog.getByLabel('Value', { exact: true }).fill('{"id":"x"}')
    await send.click()
    await dialog.getByText(/It is not what the schema \d says: at \/id: expected an integer of 64 bits/).waitFor()
    await dialog.getByLabel('Schema of value').fill('orders-value:8')
    await send.click()
    await dialog.getByText('Version 8 not found.').waitFor()
    await dialog.getByLabel('Schema of value').fill('orders-value:1')
    await dialog.getByLabel('Value', { exact: true }).fill(ORDER_AVRO_TEXT)
    await send.click()
    await page.getByText('Produced to partition 0 at offset 6.').waitFor()

    const made = (await readFrom(wire, 'orders', 0, 5)).map(({ value }) => value?.toString('hex'))
    assert.deepEqual(
      made,
      [values[4], values[0]].map(value => value!.toString('hex')),
    )
    assertQuiet()
  },
}

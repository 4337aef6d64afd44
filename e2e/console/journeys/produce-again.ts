// A record is produced again: key, value and headers arrive byte for byte, whatever they are made of, and a header
// whose tick is taken away does not.

import assert from 'node:assert/strict'
import type { DecodedRecord, NewRecord } from '../../../src/protocol/records.ts'
import { visitAs } from '../browser.ts'
import { append, readFrom } from '../records.ts'
import { must, startWorld } from '../world.ts'
import type { Journey } from './journey.ts'

const TEXT: NewRecord = {
  key: ' key with a space \t',
  value: 'first line\r\nsecond\rthird\n"73314510714175488": 1.10, \u202Eü\u0000\n',
  headers: [
    { key: 'trace', value: 'first' },
    { key: 'drop me', value: 'x' },
    { key: 'trace', value: 'second' },
    { key: 'nothing', value: null },
    { key: 'binary', value: Buffer.from([0xff, 0x00, 0x0d, 0x0a]) },
  ],
}
const BINARY: NewRecord = { key: Buffer.from([0xc3, 0x28]), value: Buffer.from([0x00, 0xfe, 0xff, 0x0d]), headers: [] }
const TOMBSTONE: NewRecord = { key: 'gone', value: null, headers: [{ key: 'why', value: '' }] }

const bytesOf = ({ key, value, headers }: DecodedRecord) => ({
  key: key?.toString('hex') ?? null,
  value: value?.toString('hex') ?? null,
  headers: headers.map(header => [header.key, header.value?.toString('hex') ?? null]),
})

export const produceAgain: Journey = {
  name: 'produce-again',
  async run({ t, browser, store }) {
    const { url, admin, connect } = await startWorld(t, store)
    await must(admin, 'POST', '/api/v1/topics', { name: 'orders', partitions: 2 })
    const wire = await connect()
    const originals = [TEXT, BINARY, TOMBSTONE]
    await append(wire, 'orders', 1, originals)
    const { page, assertQuiet } = await visitAs(t, browser, url, admin.cookie)
    for (const [offset, original] of originals.entries()) {
      await page.goto(`/topics/orders/messages?at=1-${offset}`)
      await page.getByRole('button', { name: 'Produce again' }).click()
      const dialog = page.getByRole('dialog', { name: 'Produce again to orders' })
      await dialog.waitFor()
      assert.equal(await dialog.getByRole('checkbox', { name: /^Send header/ }).count(), original.headers!.length)
      const dropped = dialog.getByRole('checkbox', { name: 'Send header 2, drop me' })
      if (original === TEXT) await dropped.uncheck()
      await dialog.getByRole('button', { name: 'Produce', exact: true }).click()
      await page.getByText(`Produced to partition 1 at offset ${originals.length + offset}.`).waitFor()
      await dialog.waitFor({ state: 'hidden' })
    }
    const records = await readFrom(wire, 'orders', 1, 0)
    const copies = records.slice(originals.length).map(bytesOf)
    const wanted = records.slice(0, originals.length).map(bytesOf)
    assert.deepEqual(
      copies,
      wanted.map(each => ({ ...each, headers: each.headers.filter(([name]) => name !== 'drop me') })),
    )
    await page.getByRole('link', { name: 'Open the record' }).last().click()
    await page.locator('[data-record="1-5"]').waitFor()
    assertQuiet()
  },
}

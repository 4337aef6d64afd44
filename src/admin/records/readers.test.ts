import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecordReaders } from './readers.ts'

test('four pages are made at once, 64 wait for their turn, and one more is refused', async () => {
  const readers = new RecordReaders()
  const { promise, resolve } = Promise.withResolvers<void>()
  let atWork = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++atWork)
    await promise
    atWork--
    return 'done'
  }
  const pages = Array.from({ length: 68 }, () => readers.page(work))
  assert.equal(await readers.page(work), null)
  resolve()
  assert.ok((await Promise.all(pages)).every(page => page === 'done'))
  assert.equal(most, 4)
})

test('a page that fails gives its place to the next', async () => {
  const readers = new RecordReaders()
  const fail = async () => {
    throw new Error('no')
  }
  const failing = Array.from({ length: 10 }, () => readers.page(fail))
  assert.ok((await Promise.allSettled(failing)).every(({ status }) => status === 'rejected'))
  assert.equal(await readers.page(async () => 'done'), 'done')
})

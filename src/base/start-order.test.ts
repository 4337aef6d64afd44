import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOrder } from './start-order.ts'

/** Three steps. The second step has no end. The third step fails if `isFailing` is true. */
function open() {
  const log: string[] = []
  const order = startOrder<{ readonly isFailing: boolean }>()
    .step(
      'the store',
      () => {
        log.push('store')
        return { store: 'disk' }
      },
      ({ store }) => log.push(`end of store on ${store}`),
    )
    .step('the logs', async ({ store }) => {
      log.push(`logs on ${store}`)
      return { logs: 3 }
    })
    .step(
      'the listener',
      ({ isFailing, logs }) => {
        if (isFailing) throw new Error('the port is taken')
        log.push(`listener over ${logs} logs`)
        return { port: 9092 }
      },
      async ({ port }) => log.push(`end of ${port}`),
    )
  return { log, order }
}

test('steps start in order, each with the results of the earlier steps, and end in reverse order', async () => {
  const { log, order } = open()
  const started = await order.start({ isFailing: false })
  assert.deepEqual(started.made, { isFailing: false, store: 'disk', logs: 3, port: 9092 })
  assert.deepEqual(started.open(), ['the store', 'the listener'])
  await started.end()
  assert.deepEqual(log, ['store', 'logs on disk', 'listener over 3 logs', 'end of 9092', 'end of store on disk'])
  assert.deepEqual(started.open(), [])
})

test('when a step fails, the steps before it are ended and its error is thrown', async () => {
  const { log, order } = open()
  await assert.rejects(order.start({ isFailing: true }), /the port is taken/)
  assert.deepEqual(log, ['store', 'logs on disk', 'end of store on disk'])
})

test('a step whose end fails stays open, and so do the steps before it', async () => {
  const order = startOrder<object>()
    .step(
      'the store',
      () => ({}),
      () => {},
    )
    .step(
      'the logs',
      () => ({}),
      () => Promise.reject(new Error('the store is away')),
    )
  const started = await order.start({})
  await assert.rejects(started.end(), /the store is away/)
  assert.deepEqual(started.open(), ['the store', 'the logs'])
})

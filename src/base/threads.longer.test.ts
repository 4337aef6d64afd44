// A call of a thread that takes too much processor time ends its thread, and only that.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from './clock.ts'
import { ThreadEnded, Threads, TookTooLong } from './threads.ts'

const SCRIPT = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads'
    parentPort.on('message', call => {
      if (call === 'spin') for (;;);
      const answer = () => parentPort.postMessage({ kind: 'done', result: call })
      if (call === 'wait') setTimeout(answer, 400)
      else answer()
    })`)}`,
)

test('a call that takes more processor time than it may ends its thread, and the next one starts', async t => {
  const threads = new Threads({
    name: 'test',
    script: SCRIPT,
    most: 1,
    clock: systemClock,
    errorOf: ({ message }) => new Error(message),
  })
  t.after(() => threads.close())
  // A thread that is still starting has the same limit.
  const starting = await threads.take()
  await assert.rejects(starting.askWithin(200, 'spin'), TookTooLong)
  threads.give(starting)
  const thread = await threads.take()
  assert.equal(await thread.askWithin(5_000, 'a'), 'a')
  // It waits longer than the limit and computes next to nothing.
  assert.equal(await thread.askWithin(200, 'wait'), 'wait')
  await assert.rejects(thread.askWithin(200, 'spin'), (error: unknown) => {
    assert.ok(error instanceof TookTooLong && error instanceof ThreadEnded)
    assert.match(error.message, /a call took more than 200 ms of processor time/)
    return true
  })
  threads.give(thread)
  const next = await threads.take()
  assert.equal(await next.askWithin(5_000, 'b'), 'b')
  threads.give(next)
})

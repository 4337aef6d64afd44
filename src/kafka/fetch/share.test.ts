import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createFetchShare, type Grant, shareLimits } from './share.ts'

const MB = 2 ** 20
const LIMITS = { commonBytes: 12 * MB, endBytes: 14 * MB }

function start() {
  const clock = new SimulatedClock()
  const share = createFetchShare(clock, LIMITS)
  const drain = new AbortController()
  let nextId = 1
  function join() {
    const listener = { name: 'PLAINTEXT', host: 'h', port: 1 }
    const connection = { id: nextId++, listener, principal: 'User:x', address: 'a' }
    const gone = new AbortController()
    const asking = (mostBytes = 50 * MB, leastBytes = 1000, askedAtMs = clock.monotonic()) => ({
      connection,
      closed: gone.signal,
      askedAtMs,
      mostBytes,
      leastBytes,
    })
    return {
      ask: () => share.asked(connection, clock.monotonic()),
      take: (mostBytes?: number, leastBytes?: number, askedAtMs?: number) =>
        share.take(asking(mostBytes, leastBytes, askedAtMs)),
      wait: (maxWaitMs = 500, mostBytes?: number, leastBytes?: number) =>
        share.wait(asking(mostBytes, leastBytes), maxWaitMs, drain.signal),
      exchange: (grant: Grant | undefined, mostBytes: number, leastBytes: number) =>
        grant?.exchange(asking(mostBytes, leastBytes)) ?? null,
      leave: () => gone.abort(),
    }
  }
  /** Connections that have all the memory that may be granted. */
  function fill(): Grant[] {
    const grants: Grant[] = []
    for (let grant = join().take(); grant !== null; grant = join().take()) grants.push(grant)
    return grants
  }
  return { clock, share, drain, join, fill }
}

test('the memory for answers ends well below the budget and below its resume mark', () => {
  assert.deepEqual(shareLimits(400 * MB, 200 * MB), { commonBytes: 150 * MB, endBytes: 175 * MB })
  assert.deepEqual(shareLimits(400 * MB, 399 * MB), { commonBytes: 150 * MB, endBytes: 175 * MB })
})

test('each grant is at most a third of the free memory, and all grants together reach the limit', () => {
  const { share, join, fill } = start()
  const [first, second] = [join(), join()]
  for (const reader of [first, second]) {
    reader.take(MB)!.sent()
    reader.ask()
  }
  assert.equal(first.take()?.bytes, 4 * MB)
  assert.equal(second.take()?.bytes, 3 * MB)
  fill()
  assert.equal(share.bytes, LIMITS.endBytes, 'two of them are in the part of prompt readers')
})

test('if no reader has memory, the first one gets all that its batch needs', () => {
  const { share, join } = start()
  const grant = join().take(50 * MB, 90 * MB)
  assert.equal(grant?.bytes, 50 * MB)
  assert.equal(share.bytes, 90 * MB)
  assert.equal(join().take(), null)
  grant!.trim(1000)
  assert.notEqual(join().take(), null)
})

test('a reader that has not taken an answer yet may have several while half of the common memory is free', () => {
  const { join } = start()
  const reader = join()
  const grants = Array.from({ length: 9 }, () => reader.take(MB))
  assert.deepEqual(
    grants.map(grant => (grant?.bytes ?? 0) / MB),
    [1, 1, 1, 1, 1, 1, 0, 0, 0],
  )
})

test('waiting readers are served in the order in which they began to wait, even if their time was up in between', async () => {
  const { clock, join, fill } = start()
  const [large] = fill()
  const order: string[] = []
  const [first, second] = [join(), join()]
  const ask = async (name: string, who: ReturnType<typeof join>) => {
    if ((await who.wait(500, MB)) !== null) order.push(name)
  }
  const early = ask('first', first)
  await clock.advance(500)
  await early
  const waits = [ask('second', second), ask('first', first), ask('third', join())]
  assert.equal(join().take(1000), null, 'a newcomer does not overtake those that wait')
  large!.trim(MB)
  await clock.settle()
  assert.deepEqual(order, ['first', 'second', 'third'])
  await Promise.all(waits)
})

test('a reader that took its last answer promptly has a part for itself, and a slow one gets what it takes in a second', async () => {
  const { clock, join, fill } = start()
  const [prompt, slow] = [join(), join()]
  prompt.take(1000)!.sent()
  const before = slow.take(3 * MB)!
  before.trim(3 * MB)
  await clock.advance(2000)
  before.sent()
  const again = slow.take()!
  assert.equal(again.bytes, MB, 'one and a half a second, in whole steps')
  assert.equal(slow.take(), null, 'one answer at a time')
  fill()
  assert.equal(join().take(), null)
  assert.notEqual(prompt.take(MB), null)
})

test('once half is taken, a reader that asks again late gets what it took in a second, even if its answer was sent at once', async () => {
  const { clock, share, join } = start()
  const holders = [join().take()!, join().take()!]
  assert.equal(share.bytes, 6 * MB)
  const reader = join()
  const take = () => {
    reader.ask()
    return reader.take()
  }
  const first = take()!
  assert.equal(first.bytes, MB)
  first.sent()
  await clock.advance(2000)
  const second = take()!
  assert.equal(second.bytes, MB)
  await clock.advance(10)
  second.sent()
  await clock.advance(890)
  const third = take()!
  assert.equal(third.bytes, MB, 'nearly a second for what it takes in a second is not prompt')
  await clock.advance(10)
  third.sent()
  reader.ask()
  await clock.advance(5000)
  const fourth = take()!
  assert.equal(fourth.bytes, 2 * MB, 'it asked at once, and there was nothing to answer for a while')
  fourth.sent()
  await clock.advance(5000)
  for (const holder of holders) holder.sent()
  assert.equal(take()!.bytes, 4 * MB, 'the memory is free: a client that asks now and then has all that fits')
})

test('a reader that asks ahead of its answers may not use the part for prompt readers', async () => {
  const { clock, join, fill } = start()
  const [ahead, prompt] = [join(), join()]
  const first = ahead.take(1000)!
  await clock.advance(10)
  first.sent()
  prompt.take(1000)!.sent()
  fill()
  assert.equal(ahead.take(MB, 1000, 0), null, 'it came before the first answer was out')
  assert.notEqual(prompt.take(MB), null)
  assert.notEqual(ahead.take(MB), null, 'it came afterwards')
})

test('a reader that asks ahead of its answers has several grants while half of the common part is free', async () => {
  const { clock, join } = start()
  const ahead = join()
  const first = ahead.take(MB)!
  await clock.advance(10)
  first.sent()
  assert.deepEqual(
    Array.from({ length: 7 }, () => ahead.take(MB, 1000, 0)?.bytes ?? null),
    [MB, MB, MB, MB, MB, MB, null],
  )
})

test('a newcomer does not wait behind those that are known to be slow', async () => {
  const { clock, join } = start()
  const slow = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const one = join()
      const first = one.take(1000)!
      await clock.advance(2000)
      first.sent()
      return one
    }),
  )
  const grants = slow.map(one => one.take())
  assert.deepEqual(
    grants.map(grant => (grant?.bytes ?? 0) / MB),
    [...Array(10).fill(1), 0, 0],
  )
  const waiting = slow[10]!.wait()
  assert.equal(join().take()?.bytes, MB)
  const last = join().take()
  assert.equal(last?.bytes, MB)
  assert.equal(join().take(), null, 'their part is taken too')
  last!.sent()
  grants[0]!.sent()
  grants[1]!.sent()
  await clock.settle()
  assert.equal((await waiting)?.bytes, MB)
})

test('a connection that closes releases all its memory, and its waits end', async () => {
  const { share, join, fill } = start()
  const leaver = join()
  const grant = leaver.take()
  fill()
  const waiting = leaver.wait()
  leaver.leave()
  assert.equal(await waiting, null)
  assert.equal(share.bytes, LIMITS.commonBytes - 4 * MB)
  grant!.trim(2 * MB)
  grant!.sent()
  assert.equal(share.bytes, LIMITS.commonBytes - 4 * MB)
  assert.equal(leaver.take(), null)
})

test('prompt readers keep to their own part while a reader that came earlier would find room without them', async () => {
  const { share, clock, join } = start()
  const readers = Array.from({ length: 14 }, join)
  for (const reader of readers) {
    reader.take(1000)!.sent()
    reader.ask()
  }
  const grants = readers.map(reader => reader.take(MB)!)
  assert.equal(share.bytes, LIMITS.endBytes)
  const newcomer = join()
  const waiting = newcomer.wait(500, 3 * MB, 3 * MB)
  grants[0]!.sent()
  readers[0]!.ask()
  assert.equal(readers[0]!.take(MB), null, 'the reader would take the room that the newcomer waits for')
  const prompt = readers[0]!.wait(500, MB)
  for (const grant of grants.slice(1, 3)) grant.sent()
  await clock.settle()
  assert.equal((await waiting)?.bytes, 3 * MB)
  for (const grant of grants.slice(3, 5)) grant.sent()
  await clock.settle()
  assert.equal((await prompt)?.bytes, MB)
})

test('a reader whose batch is larger than its part is served beside prompt readers that stay within theirs', async () => {
  const { clock, join } = start()
  const [slow, prompt] = [join(), join()]
  const first = slow.take(MB)!
  await clock.advance(2000)
  first.sent()
  slow.ask()
  prompt.take(1000)!.sent()
  prompt.ask()
  assert.notEqual(prompt.take(1000), null)
  assert.equal(slow.take(MB, 13 * MB)?.bytes, MB)
})

test('a client that does not want to wait gets its turn in the end, like one that waits', async () => {
  const { clock, join, fill } = start()
  const grants = fill()
  const [hasty, patient] = [join(), join()]
  const early = hasty.wait(0)
  await clock.advance(200)
  assert.equal(await early, null)
  const waiting = patient.wait()
  assert.equal(await Promise.race([waiting, Promise.resolve('waits')]), 'waits')
  grants[0]!.sent()
  assert.notEqual(hasty.take(MB), null, 'it asked before the other')
  await clock.advance(500)
  await waiting
})

test('the time in which an answer waits for more records does not count for its client', async () => {
  const { clock, join } = start()
  join().take(MB)
  const reader = join()
  const grant = reader.take(MB)!
  grant.trim(1000)
  await clock.advance(3000)
  grant.made()
  grant.sent()
  reader.ask()
  assert.notEqual(reader.take(MB), null)
  assert.notEqual(reader.take(MB), null, 'a slow one has one answer at a time')
})

test('waits end when the broker drains, and when their time is up', async () => {
  const { clock, drain, join, fill } = start()
  fill()
  const overdue = Promise.all(Array.from({ length: 40 }, () => join().wait(100)))
  await clock.advance(100)
  await clock.advance(1)
  assert.ok((await overdue).every(grant => grant === null))
  const waiting = join().wait()
  drain.abort()
  assert.equal(await waiting, null)
  assert.equal(await join().wait(), null)
})

test('whatever clients do, at most one answer has memory beyond the end, and all memory is released', async () => {
  const client = fc.nat(4)
  const bytes = fc.integer({ min: 1, max: 6 * MB })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('ask' as const), client, bytes, leastBytes: bytes, waitMs: fc.nat(700) }),
    fc.record({ kind: fc.constant('found' as const), client, bytes: fc.nat(MB) }),
    fc.record({ kind: fc.constant('more' as const), client, bytes, leastBytes: bytes }),
    fc.record({ kind: fc.constant('taken' as const), client }),
    fc.record({ kind: fc.constant('pause' as const), ms: fc.nat(1500) }),
    fc.record({ kind: fc.constant('leave' as const), client }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async steps => {
      const { clock, share, join } = start()
      const clients = Array.from({ length: 5 }, () => ({ ...join(), grants: [] as Grant[] }))
      let underWay = 0
      for (const step of steps) {
        const at = step.kind === 'pause' ? -1 : step.client
        const one = clients[at]
        switch (step.kind) {
          case 'ask': {
            one!.ask()
            const grant = one!.take(step.bytes, step.leastBytes)
            if (grant !== null) one!.grants.push(grant)
            else {
              underWay++
              void one!.wait(step.waitMs, step.bytes, step.leastBytes).then(later => {
                underWay--
                if (later !== null) one!.grants.push(later)
              })
            }
            break
          }
          case 'found':
            one!.grants[0]?.trim(Math.min(step.bytes, one!.grants[0].bytes))
            break
          case 'more': {
            const grant = one!.exchange(one!.grants[0], step.bytes, step.leastBytes)
            if (grant !== null) one!.grants[0] = grant
            break
          }
          case 'taken':
            one!.grants[0]?.made()
            one!.grants.shift()?.sent()
            break
          case 'leave':
            one!.leave()
            clients[at] = { ...join(), grants: [] }
            break
          default:
            await clock.advance(step.ms)
        }
        assert.ok(share.bytes >= 0 && share.bytes <= LIMITS.endBytes + 6 * MB, `${share.bytes} are held`)
      }
      await clock.advance(1000)
      await clock.advance(1000)
      assert.equal(underWay, 0, 'every wait ends')
      for (const one of clients) for (const grant of one.grants) grant.release()
      assert.equal(share.bytes, 0)
    }),
    { numRuns: 200 },
  )
})

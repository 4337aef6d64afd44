// Idempotent producers whose batches are judged slowly, while the store fails: exactly the bad batches fail, and the
// others are in the log once and in order. A producer does here as Java's and librdkafka's do.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestJudge } from '../../testing/judge.ts'
import { fc } from '../../testing/property.ts'
import { batchOf, openLogWorld, readAll } from '../../testing/sim/logs.ts'
import { seededRandom } from '../base/random.ts'
import { INVALID_RECORD, isRefusal, OUT_OF_ORDER_SEQUENCE_NUMBER, type Refusal } from '../protocol/errors.ts'
import { readRecords } from '../protocol/records.ts'
import { StoreUnavailable, streamId } from '../store/store.ts'
import type { Appended } from './lane.ts'
import type { Partition } from './partition.ts'

interface Kind {
  readonly isBad: boolean
  readonly isPacked: boolean
  readonly records: number
}

interface Sent extends Kind {
  readonly id: string
  answer: Appended | Refusal | null
}

/**
 * Sends the batches with a window. It sends those again that failed for now, in order and with their sequences. After
 * a batch was refused for good, it first finds out about those in flight behind it; then it takes the next epoch and
 * numbers the rest from 0.
 */
async function produce(find: () => Partition, producerId: number, kinds: readonly Kind[], window: number) {
  const all = kinds.map((kind, i): Sent => ({ ...kind, id: `${producerId}.${i}`, answer: null }))
  let producerEpoch = 0
  let rest: readonly Sent[] = all
  for (let bumps = 0; rest.length > 0; bumps++) {
    assert.ok(bumps <= all.length, 'each epoch ends with a batch that was refused for good')
    rest = await inOneEpoch(rest)
    producerEpoch++
  }
  return all

  async function inOneEpoch(batches: readonly Sent[]): Promise<readonly Sent[]> {
    const sequences = new Map<Sent, number>()
    let next = 0
    for (const sent of batches) {
      sequences.set(sent, next)
      next += sent.records
    }
    let open = [...batches]
    let flight: Sent[] = []
    let mustBump = false
    for (let round = 0; round < 1_000; round++) {
      // Once it must take the next epoch it sends no new batches.
      flight = mustBump ? flight.filter(({ answer }) => answer === null) : open.slice(0, window)
      if (flight.length === 0) return open
      const answers = await Promise.all(flight.map(sent => find().append(packed(sent), 2_000)))
      let areBehind = false
      for (const [i, sent] of flight.entries()) {
        const answer = answers[i]!
        if (!isRefusal(answer) || answer.code === INVALID_RECORD.code) {
          sent.answer = answer
          if (isRefusal(answer)) mustBump = true
        } else areBehind ||= answer.code !== OUT_OF_ORDER_SEQUENCE_NUMBER.code
      }
      open = open.filter(({ answer }) => answer === null)
      // All that are left are certainly not in the log.
      if (mustBump && !areBehind && flight.some(({ answer }) => answer === null)) return open
    }
    return assert.fail('the producer never got through')

    function packed(sent: Sent) {
      const { id, isBad, isPacked, records } = sent
      return batchOf(
        Array.from({ length: records }, (_, i) => ({ value: `${isBad && i === records - 1 ? 'X' : ''}${id}` })),
        { producerId, producerEpoch, baseSequence: sequences.get(sent)!, compression: isPacked ? 'zstd' : 'none' },
      )
    }
  }
}

test('whatever the store and the verdicts do, exactly the bad batches fail and the others are there once, in order', async () => {
  const fault = fc.constantFrom('unavailable', 'unknown-lost', 'unknown-done', 'slow', 'thief', 'unjudged', 'reopen')
  const kind = fc.record({
    isBad: fc.boolean(),
    isPacked: fc.boolean(),
    records: fc.integer({ min: 1, max: 3 }),
  })
  const scenario = fc.record({
    seed: fc.nat(),
    producers: fc.array(
      fc.record({
        kinds: fc.array(kind, { minLength: 1, maxLength: 10 }),
        window: fc.integer({ min: 1, max: 5 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    faults: fc.array(fault, { maxLength: 8 }),
    mostMs: fc.constantFrom(0, 50, 900, 2_500),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ seed, producers, faults, mostMs }) => {
      const judge = new TestJudge()
      const random = seededRandom(seed)
      const world = await openLogWorld(null, { random, judge })
      const { clock, store, catalogue } = world
      judge.slowness = { clock, random, mostMs }
      await world.create('orders')
      const find = () => world.partition('orders')
      let finished = false
      const working = producers.map(({ kinds, window }, i) => produce(find, i + 1, kinds, window))
      const all = Promise.all(working).finally(() => {
        finished = true
      })
      all.catch(() => {})
      for (let step = 0; !finished && step < 4_000; step++) {
        const what = faults[step]
        if (what === 'unavailable' || what === 'unknown-lost' || what === 'unknown-done')
          store.faults.failNext('append', what)
        else if (what === 'slow') store.faults.delay('append', 700)
        else if (what === 'thief') await store.open(streamId(catalogue.current().topics.get('orders')!.id, 0), 0, 0)
        else if (what === 'unjudged') judge.next.push(new StoreUnavailable('away'))
        else if (what === 'reopen') find().reopen()
        await clock.advance(100)
      }
      const sent = await all
      const log = await readAll(find())
      await world.logs.close()
      for (const [i, batches] of sent.entries()) {
        for (const { isBad, answer } of batches) assert.equal(isRefusal(answer!), isBad)
        const stored: string[] = []
        for (const { bytes } of log.filter(({ producerId }) => producerId === i + 1)) {
          stored.push(String((await readRecords(bytes))[0]!.value))
        }
        assert.deepEqual(
          stored,
          batches.filter(({ isBad }) => !isBad).map(({ id }) => id),
        )
      }
    }),
    { numRuns: 60 },
  )
})

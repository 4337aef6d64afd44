import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { StoreUnavailable } from '../store/store.ts'
import { MOST_SILENCE_MS, ReadWatch } from './read-watch.ts'

function world() {
  const clock = new SimulatedClock()
  const watch = new ReadWatch(clock)
  const gates: PromiseWithResolvers<null>[] = []
  const silent = {
    ...createMemoryStore(clock),
    load: () => {
      const gate = Promise.withResolvers<null>()
      gates.push(gate)
      return gate.promise
    },
  }
  const store = watch.over(silent)
  return { clock, watch, store, read: () => store.load('schemas', 'x'), gates }
}

const kindOf = (work: Promise<unknown>) =>
  Promise.race([
    work.then(
      () => 'answered',
      (error: Error) => error.name,
    ),
    Promise.resolve('waits').then(each => each),
  ])

test('a request ends when the store has been silent for two seconds', async () => {
  const { clock, watch, read } = world()
  const asked = watch.promptly(read())
  asked.catch(() => {})
  await clock.advance(MOST_SILENCE_MS - 10)
  assert.equal(await kindOf(asked), 'waits')
  await clock.advance(10)
  await assert.rejects(asked, StoreUnavailable)
})

test('a request whose reads are answered goes on, however many they are', async () => {
  const { clock, watch, read, gates } = world()
  const asked = watch.promptly(
    (async () => {
      for (let at = 0; at < 10; at++) await read()
      return 'done'
    })(),
  )
  for (let at = 0; at < 10; at++) {
    await clock.advance(1_500)
    gates[at]!.resolve(null)
  }
  assert.equal(await asked, 'done')
})

test('work that takes long without the store goes on', async () => {
  const { clock, watch } = world()
  const work = Promise.withResolvers<string>()
  const asked = watch.promptly(work.promise)
  await clock.advance(60_000)
  work.resolve('done')
  assert.equal(await asked, 'done')
})

test('a request behind a read that waits already ends as soon as one that began then', async () => {
  const { clock, watch, read } = world()
  const first = watch.promptly(read())
  first.catch(() => {})
  await clock.advance(1_000)
  const second = watch.promptly(first.then(read))
  second.catch(() => {})
  await clock.advance(MOST_SILENCE_MS)
  await assert.rejects(second, StoreUnavailable)
})

test('errors of the work and of the store pass', async () => {
  const { watch, read, gates } = world()
  const asked = watch.promptly(read())
  gates[0]!.reject(new StoreUnavailable('refused'))
  await assert.rejects(asked, /refused/)
})

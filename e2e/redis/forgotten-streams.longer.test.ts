// The Redis adapter keeps no removed stream in memory. The test searches the heap for streams. That takes a minute in
// a process that has run hundreds of other tests, so this file has a process of its own.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import { exampleAppend } from '../../src/store/examples.ts'
import { Turns } from '../../src/store/redis/turns.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { openTestStore } from '../../testing/redis-store.ts'

test('streams that this broker or another one has removed do not stay in memory', {
  skip: noRedis,
}, async t => {
  const at = { 'redis.uri': (await startRedis(t as CleanUp)).uri }
  const { store } = await openTestStore(t as CleanUp, at)
  const { store: other } = await openTestStore(t as CleanUp, at)
  const count = () => queryObjects(Turns, { format: 'count' })
  const before = count()
  for (let round = 0; round < 5; round++) {
    const streams = Array.from({ length: 100 }, (_, i) => `AAAAAAAAAAAAAAAAAAAAA${'AEIMQ'[round]}:${i}`)
    await store.create(streams)
    await Promise.all(streams.map(stream => store.open(stream, 0, 0)))
    await Promise.all(streams.map(stream => store.append(exampleAppend(stream, 1, 0))))
    const [mine, theirs] = [streams.slice(0, 50), streams.slice(50)]
    await Promise.all([store.remove(mine), other.remove(theirs)])
    const appended = await Promise.all(theirs.map(stream => store.append(exampleAppend(stream, 1, 1))))
    assert.ok(appended.every(({ kind }) => kind === 'gone'))
  }
  // Streams of the last round may still be in memory.
  assert.ok(count() <= before + 100, `${count()} streams are kept, ${before} were before`)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryObjects } from '../../../testing/memory-objects.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { ObjectStoreError, type ObjectStoreErrorKind } from '../objects/objects.ts'
import { watchedObjects } from './watched-objects.ts'

test('a watch hears of a place that is away or full, and the caller gets the error all the same', async () => {
  const heard: string[] = []
  for (const kind of ['away', 'unknown', 'full', 'refused'] as const satisfies readonly ObjectStoreErrorKind[]) {
    const memory = new MemoryObjects(new SimulatedClock())
    memory.create = () => Promise.reject(new ObjectStoreError(kind, `it is ${kind}`))
    const objects = watchedObjects(memory, new SimulatedClock(), {
      away: () => void heard.push('away'),
      full: why => void heard.push(why),
      wrote: () => assert.fail('nothing was written'),
    })
    await assert.rejects(objects.create('a', new Uint8Array(1)), { kind })
  }
  assert.deepEqual(heard, ['away', 'away', 'it is full'])
})

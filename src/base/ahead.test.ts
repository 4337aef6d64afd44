import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ahead } from './ahead.ts'

/** Yields the numbers below `count` and notes what happens. */
async function* numbers(count: number, notes: string[], failAt = -1): AsyncGenerator<number, void> {
  try {
    for (let i = 0; i < count; i++) {
      notes.push(`make ${i}`)
      await Promise.resolve()
      if (i === failAt) throw new Error(`${i} failed`)
      yield i
    }
  } finally {
    notes.push('end')
  }
}

const turn = () => new Promise(resolve => setImmediate(resolve))

test('the source makes the next item while the reader uses one', async () => {
  const notes: string[] = []
  for await (const item of ahead(numbers(3, notes))) {
    await turn()
    notes.push(`use ${item}`)
  }
  assert.deepEqual(notes, ['make 0', 'make 1', 'use 0', 'make 2', 'use 1', 'end', 'use 2'])
})

test('the reader gets an error after the items before it', async () => {
  const used: number[] = []
  await assert.rejects(async () => {
    for await (const item of ahead(numbers(3, [], 1))) {
      await turn()
      used.push(item)
    }
  }, /1 failed/)
  assert.deepEqual(used, [0])
})

test('when the reader ends early, the source has ended too, and an error of its item is dropped', async () => {
  for (const failAt of [-1, 1]) {
    const notes: string[] = []
    for await (const _ of ahead(numbers(9, notes, failAt))) break
    notes.push('over')
    assert.deepEqual(notes, ['make 0', 'make 1', 'end', 'over'])
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ahead, twoAtOnce } from './ahead.ts'

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

/** Returns work that ends two turns after it has begun. */
function work(notes: string[], failAt = -1): (item: number) => Promise<number> {
  return async i => {
    notes.push(`begin ${i}`)
    await turn()
    await turn()
    notes.push(`end ${i}`)
    if (i === failAt) throw new Error(`${i} failed`)
    return i
  }
}

test('work begins before that on the item before it has ended, and its results come in order', async () => {
  const notes: string[] = []
  const results: number[] = []
  for await (const result of twoAtOnce(numbers(4, []), work(notes))) results.push(result)
  assert.deepEqual(results, [0, 1, 2, 3])
  assert.deepEqual(notes.slice(0, 3), ['begin 0', 'begin 1', 'end 0'])
  assert.ok(notes.indexOf('begin 3') > notes.indexOf('end 1'), 'at most two are in work')
})

test('the reader gets an error of the work in its turn, and no more work begins', async () => {
  const notes: string[] = []
  const results: number[] = []
  const reading = async () => {
    for await (const result of twoAtOnce(numbers(9, []), work(notes, 1))) results.push(result)
  }
  await assert.rejects(reading(), /^Error: 1 failed$/)
  assert.deepEqual(results, [0])
  assert.ok(notes.includes('end 2') && !notes.includes('begin 3'), notes.join())
})

test('a reader that ends early waits for the work that has begun', async () => {
  const notes: string[] = []
  for await (const _ of twoAtOnce(numbers(9, []), work(notes, 1))) break
  assert.deepEqual(notes, ['begin 0', 'begin 1', 'end 0', 'end 1'])
})

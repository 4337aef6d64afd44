import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BatchMemory, Miss } from './batch-memory.ts'
import type { Knowledge } from './knowledge.ts'

test('a question is asked once, and its answer counts for the whole batch', async () => {
  const asked: unknown[] = []
  const memory = new BatchMemory(knowing(asked, 'guid'))
  const miss = memory.guidOf(1)
  assert.ok(miss instanceof Miss)
  assert.equal(memory.guidOf(1), miss)
  await miss.load()
  assert.equal(memory.guidOf(1), 'guid')
  assert.deepEqual(asked, [1])
})

test('after an id that no schema has, no other unknown id is asked about or remembered', async () => {
  const memory = new BatchMemory(knowing([], null))
  const miss = memory.guidOf(1)
  assert.ok(miss instanceof Miss)
  await miss.load()
  assert.equal(memory.guidOf(1), null)
  assert.equal(memory.guidOf(2), undefined)
})

/** Answers every look-up of an id with the same guid. */
function knowing(asked: unknown[], guid: string | null): Knowledge {
  const known: Pick<Knowledge, 'guidOf' | 'lookUp'> = {
    guidOf: () => undefined,
    async lookUp(key) {
      asked.push(key)
      return guid
    },
  }
  return known as Knowledge
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterOf } from './text-filter.ts'

/** Resolves to whether a value contains the text, and how often other work had its turn meanwhile. */
async function search(contains: string, value: Buffer): Promise<[boolean, number]> {
  let turns = 0
  const record = {
    ...{ partition: 0, offset: 0, lastOffset: 0, timestamp: 0, timestampType: 'CreateTime' as const },
    ...{ key: Buffer.from('key'), value, headers: [], headerCount: 0, undecodedHeaders: null, unreadable: null },
  }
  const isFound = await filterOf(contains)!(record, () => {
    turns++
    return undefined
  })
  return [isFound, turns]
}

test('a text is found at any position in a long value, and other work gets its turn', async () => {
  const value = Buffer.alloc(1_000_000, 'a')
  for (const at of [0, 16_380, 16_384, 32_767, 999_994]) {
    const some = Buffer.from(value)
    some.write('needle', at)
    assert.deepEqual((await search('needle', some))[0], true, `at ${at}`)
  }
  const [isFound, turns] = await search('needle', value)
  assert.equal(isFound, false)
  assert.ok(turns > 50, `${turns} turns`)
  assert.deepEqual(await search('key', Buffer.from('short')), [true, 0])
  assert.equal(filterOf(''), null)
})

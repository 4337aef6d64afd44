import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLike } from './likeness.ts'

const MODEL = {
  topics: [{ name: '', 'partitions?': 0, configs: { '*': '' }, isInternal: false, leaders: [0] }],
  store: null,
}
const ROW = { name: 'orders', partitions: 3, configs: { 'retention.ms': '1' }, isInternal: false, leaders: [0, 1] }
const answer = (row: unknown) => ({ topics: [ROW, row], store: null })

test('an answer is like its model, also with members that the model does not name', () => {
  for (const good of [
    { topics: [], store: { any: 'thing' } },
    answer(ROW),
    answer({ ...ROW, partitions: null, configs: {}, leaders: [], later: 1 }),
    answer({ name: '', configs: {}, isInternal: true, leaders: [] }),
  ])
    assert.ok(isLike(good, MODEL), JSON.stringify(good))
})

test('a wrong kind is found at every depth', () => {
  const { name: _, ...nameless } = ROW
  for (const bad of [
    ...[null, undefined, 'text', 1, [], {}, { topics: [] }, { topics: {}, store: null }, { topics: null, store: null }],
    ...[null, 'text', [], {}, nameless, { ...ROW, name: 5 }, { ...ROW, name: null }].map(answer),
    ...['3', [], {}, true].map(partitions => answer({ ...ROW, partitions })),
    ...[null, [], 'text', { 'retention.ms': 1 }, { 'retention.ms': null }].map(configs => answer({ ...ROW, configs })),
    ...[null, {}, [null], [0, '1']].map(leaders => answer({ ...ROW, leaders })),
    answer({ ...ROW, isInternal: 'no' }),
  ])
    assert.ok(!isLike(bad, MODEL), JSON.stringify(bad))
})

test('what every object inherits is not a member', () => {
  assert.ok(!isLike({}, { constructor: null }))
  assert.ok(isLike({}, { 'constructor?': '' }))
})

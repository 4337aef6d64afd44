import assert from 'node:assert/strict'
import { test } from 'node:test'
import { thatFit } from './request-size.ts'

test('a hundred usual ids fit into one address', () => {
  const ids = Array.from({ length: 100 }, (_, at) => `group-${at}`)
  assert.equal(thatFit(ids).length, 100)
})

test('the first ids are taken until the address is full, counted as they are written there', () => {
  assert.deepEqual(thatFit(['ab', 'cd', 'ef'], 19), ['ab'])
  assert.deepEqual(thatFit(['ab', 'cd', 'ef'], 20), ['ab', 'cd'])
  assert.deepEqual(thatFit(['🙂', 'b'], 19), [])
})

test('an id that is not Unicode does not stop the page', () => {
  assert.deepEqual(thatFit(['\ud800']), ['\ud800'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf } from './details.ts'

test('a tree of details becomes lines, with the unit that the name tells', () => {
  const details = { path: '/data', freeBytes: 1_536, tookMs: 4, isEnabled: false, validTo: null, replicas: 1_200 }
  assert.deepEqual(linesOf(details), [
    { label: 'path', text: '/data' },
    { label: 'free', text: '1.5 KiB' },
    { label: 'took', text: '4 ms' },
    { label: 'is enabled', text: 'false' },
    { label: 'valid to', text: '—' },
    { label: 'replicas', text: '1,200' },
  ])
})

test('items of a list are numbered only if there are several', () => {
  const one = { servers: [{ place: 'a:1', durability: { facts: { fsync: 'always' }, warnings: [] } }] }
  assert.deepEqual(linesOf(one), [
    { label: 'place', text: 'a:1' },
    { label: 'fsync', text: 'always' },
  ])
  const two = { servers: [{ place: 'a:1' }, { place: 'b:2', warnings: ['first', 'second'] }] }
  assert.deepEqual(linesOf(two), [
    { label: 'server 1: place', text: 'a:1' },
    { label: 'server 2: place', text: 'b:2' },
    { label: 'server 2: warnings', text: 'first, second' },
  ])
})

test('a component without details has no lines', () => {
  assert.deepEqual(linesOf(undefined), [])
  assert.deepEqual(linesOf({}), [])
})

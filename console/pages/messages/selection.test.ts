import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSearch, writeSearch } from '../../../src/api/pages.ts'
import {
  countFilters,
  decodingOf,
  exportAddress,
  type MessageSearch,
  orderOf,
  placeOf,
  placeText,
  requestOf,
} from './selection.ts'

const DEFAULTS = readSearch('messages', {})
const search = (values: Partial<MessageSearch>): MessageSearch => ({ ...DEFAULTS, ...values })

function queryOf(values: Partial<MessageSearch>, partitions = 3) {
  const request = requestOf(search(values), 'oldest', partitions)
  assert.ok('query' in request, JSON.stringify(request))
  return request.query
}

test('an address without parameters asks for the first 50 records of all partitions', () => {
  const { partition, order, limit, decode, keyDecode, cursor, contains, ...begin } = queryOf({})
  assert.deepEqual(
    { partition, order, limit, decode, keyDecode },
    { partition: null, order: 'oldest', limit: 50, decode: 'utf8', keyDecode: 'utf8' },
  )
  assert.deepEqual({ cursor, contains, begin }, { cursor: '', contains: '', begin: {} })
})

test('the key is decoded as the value, beside JSON as text, unless the address says otherwise', () => {
  assert.equal(queryOf({ decode: 'raw' }).keyDecode, 'raw')
  assert.equal(queryOf({ decode: 'json' }).keyDecode, 'utf8')
  assert.equal(queryOf({ decode: 'json', keyDecode: 'json' }).keyDecode, 'json')
  assert.equal(queryOf({ decode: 'json', keyDecode: 'raw' }).keyDecode, 'raw')
})

test('an address without a decoding is decoded with the schemas that the topic has, and a choice wins', () => {
  const value = { subject: 'orders-value' }
  const both = { key: { subject: null }, value }
  const values = { key: null, value }
  const of = (chosen: Partial<MessageSearch>, schemas = values as Parameters<typeof decodingOf>[1]) => {
    const { decode, keyDecode } = decodingOf(search(chosen), schemas)
    return `${decode} ${keyDecode}`
  }
  assert.equal(of({}), 'registry utf8', 'a key without a schema is text')
  assert.equal(of({}, both), 'registry registry')
  assert.equal(of({}, { key: value, value: null }), 'utf8 registry')
  assert.equal(of({ decode: 'utf8' }, both), 'utf8 utf8')
  assert.equal(of({ decode: 'json' }, both), 'json utf8')
  assert.equal(of({ keyDecode: 'raw' }, both), 'registry raw')
  assert.equal(of({ decode: 'registry' }), 'registry utf8')
  assert.equal(of({ decode: 'registry' }, { key: null, value: null }), 'registry registry')
  assert.equal(countFilters(DEFAULTS, 'oldest', both), 0)
  assert.equal(countFilters(search({ decode: 'registry' }), 'oldest', both), 0)
  assert.equal(countFilters(search({ decode: 'utf8' }), 'oldest', both), 1)
})

test('one start position is asked for, and a leftover of another one is not', () => {
  const both = { offset: 5, timestamp: 9, partition: 1 }
  assert.equal(queryOf({ ...both, from: 'offset' }).timestamp, undefined)
  assert.equal(queryOf({ ...both, from: 'timestamp' }).offset, undefined)
  const latest = queryOf({ ...both, from: 'latest' })
  assert.deepEqual([latest.from, latest.offset, latest.timestamp], ['latest', undefined, undefined])
  assert.equal(queryOf({ offset: 5, partition: 1 }).offset, 5, 'a link may name the offset alone')
})

test('a start position that is not complete is not asked for', () => {
  assert.deepEqual(requestOf(search({ from: 'offset', offset: 5 }), 'oldest', 3), { missing: 'partition' })
  assert.deepEqual(requestOf(search({ from: 'offset', partition: 1 }), 'oldest', 3), { missing: 'offset' })
  assert.deepEqual(requestOf(search({ from: 'timestamp' }), 'oldest', 3), { missing: 'timestamp' })
  assert.equal(queryOf({ from: 'offset', offset: 5 }, 1).partition, 0, 'one partition leaves no choice')
})

test('every parameter of the page comes back from its address', () => {
  const given = search({
    partition: 2,
    from: 'timestamp',
    timestamp: 1_700_000_000_123,
    order: 'newest',
    limit: '200',
    decode: 'json',
    keyDecode: 'raw',
    contains: 'a&b=c ✓',
    cursor: 'abc',
    at: '2-9007199254740991',
    view: 'headers',
    pin: '0-1',
  })
  const address = new URLSearchParams(writeSearch('messages', given)).toString()
  assert.deepEqual(readSearch('messages', Object.fromEntries(new URLSearchParams(address))), given)
})

test('the chosen order is in the address, and the remembered one holds only without any parameter', () => {
  assert.equal(orderOf(DEFAULTS, 'newest'), 'newest')
  assert.equal(orderOf(DEFAULTS, undefined), 'oldest')
  assert.equal(orderOf(search({ order: 'oldest' }), 'newest'), 'oldest')
  assert.equal(orderOf(search({ partition: 0 }), 'newest'), 'oldest')
  assert.deepEqual(writeSearch('messages', search({ order: 'oldest' })), { order: 'oldest' })
})

test('a file has the whole selection, not the page', () => {
  assert.equal(
    exportAddress(
      'a/b',
      queryOf({ contains: 'x y', cursor: 'abc', limit: '25', partition: 1, from: 'offset', offset: 7 }),
      'csv',
    ),
    '/api/v1/topics/a%2Fb/messages/export?format=csv&partition=1&order=oldest&offset=7&contains=x+y&decode=utf8&keyDecode=utf8',
  )
})

test('the button of a phone counts the changed filters', () => {
  assert.equal(countFilters(DEFAULTS, 'oldest'), 0)
  assert.equal(countFilters(search({ partition: 0, from: 'offset', offset: 0, contains: 'x' }), 'newest'), 3)
})

test('a place is read only as it is written', () => {
  assert.deepEqual(placeOf(placeText({ partition: 3, offset: 8812 })), { partition: 3, offset: 8812 })
  for (const text of ['', '3', '3-', '-3', '3-8-1', 'a-1', '3-9007199254740993', '3-1e3', '3--1'])
    assert.equal(placeOf(text), null, text)
})

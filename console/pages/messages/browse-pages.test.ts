import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import type { MessagePage } from '../../../src/api/messages.ts'
import { type Browsed, browse } from './browse-pages.ts'
import type { MessageQuery } from './selection.ts'

/** A page with records of these offsets. The cursor of the next page is its number. */
function pageOf(offsets: readonly number[], next: string | null, isPartial: boolean): MessagePage {
  return {
    messages: offsets.map(offset => ({
      partition: 0,
      offset,
      timestamp: null,
      timestampType: 'CreateTime',
      key: null,
      value: null,
      headers: [],
      headerCount: 0,
    })),
    nextCursor: next,
    tailCursor: '',
    ends: [{ partition: 0, start: 0, end: 1_000 }],
    scanned: 100,
    bytes: 1_000,
    isPartial,
    unavailable: [],
  }
}

/** Answers the requests in order; without an answer the connection breaks. Returns the queries that were asked. */
async function served(t: TestContext, answers: readonly (MessagePage | null)[]): Promise<URLSearchParams[]> {
  const asked: URLSearchParams[] = []
  const server = createServer((request, response) => {
    asked.push(new URL(request.url!, 'http://localhost').searchParams)
    const answer = answers[asked.length - 1]
    if (answer === null || answer === undefined) response.destroy()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { readonly port: number }
  const fetched = globalThis.fetch
  t.mock.method(globalThis, 'fetch', (path: string, init: RequestInit) =>
    fetched(`http://127.0.0.1:${port}${path}`, init),
  )
  return asked
}

const SEARCH: MessageQuery = { contains: 'needle', cursor: '', limit: 3 }

async function run(query: MessageQuery, { stop = new AbortController(), onFound = (_: Browsed) => {} } = {}) {
  return await browse('orders', query, { signal: new AbortController().signal, stop: stop.signal, onFound })
}

const offsets = ({ messages }: Browsed) => messages.map(({ offset }) => offset)

test('a search goes on over partial pages until its page is full, and asks only for the rest', async t => {
  const asked = await served(t, [pageOf([], '1', true), pageOf([7], '2', true), pageOf([8, 9], '3', false)])
  const found: number[] = []
  const page = await run(SEARCH, { onFound: ({ messages }) => found.push(messages.length) })
  assert.deepEqual(offsets(page), [7, 8, 9])
  assert.deepEqual([page.state, page.nextCursor, page.scanned, page.bytes], ['full', '3', 300, 3_000])
  assert.deepEqual(found, [0, 1], 'the user sees what was found meanwhile')
  assert.deepEqual(
    asked.map(query => [query.get('cursor'), query.get('limit')]),
    [
      [null, '3'],
      ['1', '3'],
      ['2', '2'],
    ],
  )
})

test('a search ends with the log', async t => {
  await served(t, [pageOf([1], '1', true), pageOf([], null, true)])
  const page = await run(SEARCH)
  assert.deepEqual([page.state, page.nextCursor, offsets(page)], ['full', null, [1]])
})

test('a stopped search keeps its records and the place where it can go on', async t => {
  const stop = new AbortController()
  await served(t, [pageOf([1], '1', true), pageOf([2], '2', true), pageOf([3], '3', true)])
  const page = await run(SEARCH, { stop, onFound: ({ messages }) => messages.length === 2 && stop.abort() })
  assert.deepEqual([page.state, page.nextCursor, offsets(page), page.broken], ['stopped', '2', [1, 2], null])
})

test('a search that breaks keeps its records and says why, and one without records fails', async t => {
  await served(t, [pageOf([1], '1', true), null])
  const page = await run(SEARCH)
  assert.deepEqual([page.state, page.nextCursor, offsets(page)], ['stopped', '1', [1]])
  assert.equal(page.broken?.code, 'UNREACHABLE')
  await assert.rejects(run(SEARCH), { code: 'UNREACHABLE' })
})

test('without a search, the first records of a partial page are shown at once', async t => {
  const asked = await served(t, [pageOf([], '1', true), pageOf([5], '2', true)])
  const page = await run({ contains: '', cursor: '', limit: 3 })
  assert.deepEqual([page.state, page.nextCursor, offsets(page)], ['partial', '2', [5]])
  assert.equal(asked.length, 2)
})

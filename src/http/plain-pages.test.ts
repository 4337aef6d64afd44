import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asPageOrProblem } from './plain-pages.ts'
import { problem } from './problems.ts'

test('an error is a page for a browser, with texts of the request as texts, and a problem for a program', () => {
  const refused = problem('INVALID_REQUEST', 'The Origin "<img onerror=alert(1)>&" is not this server.')
  const page = asPageOrProblem(refused, 'id', 'text/html,*/*;q=0.8')
  assert.equal(page.contentType, 'text/html; charset=utf-8')
  assert.match(String(page.body), /"&lt;img onerror=alert\(1\)&gt;&amp;"/)
  assert.doesNotMatch(String(page.body), /<img/)
  for (const accept of [undefined, '*/*', 'application/json', 'text/htmlx'])
    assert.equal(asPageOrProblem(refused, 'id', accept).contentType, 'application/problem+json', accept)
})

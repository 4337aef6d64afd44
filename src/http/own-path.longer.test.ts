import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownPath } from './own-path.ts'

test('a redirect goes to a path of this server and nowhere else', () => {
  for (const [text, written] of [
    ['/', '/'],
    ['/topics/orders?tab=messages#newest', '/topics/orders?tab=messages#newest'],
    ['/a/../b', '/b'],
    ['/ä b', '/%C3%A4%20b'],
    ['/login?next=//evil.example', '/login?next=//evil.example'],
    ['/@evil.example', '/@evil.example'],
    ['/https://evil.example', '/https://evil.example'],
    [`/${'a'.repeat(2_047)}`, `/${'a'.repeat(2_047)}`],
  ] as const)
    assert.equal(ownPath(text), written, text)
  for (const text of [
    '',
    'topics',
    'https://evil.example/',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e//evil.example',
    ' //evil.example',
    'javascript:alert(1)',
    '/a\r\nSet-Cookie: x=1',
    `/${'a'.repeat(2_048)}`,
    `/${'é'.repeat(600)}`,
    `/?q=${'é'.repeat(600)}`,
    `/#${'é'.repeat(600)}`,
  ])
    assert.equal(ownPath(text), null, text)
})

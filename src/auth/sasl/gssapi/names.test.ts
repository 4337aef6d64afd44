import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePrincipal, shortNameOf } from './names.ts'

const principal = (text: string) => {
  const at = text.lastIndexOf('@')
  return { components: text.slice(0, at).split('/'), realm: text.slice(at + 1) }
}

test('a principal is known by its first component', () => {
  for (const name of ['alice@R', 'alice/host@R', 'alice/host/more@R', 'alice/@R'])
    assert.equal(shortNameOf(principal(name), 'R'), 'alice')
  assert.equal(shortNameOf(principal('grüße@R'), 'R'), 'grüße')
  assert.equal(shortNameOf(principal(`${'a'.repeat(128)}@R`), 'R'), 'a'.repeat(128))
})

test('a name that an ACL rule cannot mean, or that looks like another, is refused', () => {
  const refusals: readonly (readonly [string, RegExp])[] = [
    ['group:admins@R', /holds ':'/],
    ['a:b@R', /holds ':'/],
    ['@R', /is empty/],
    ['a@b@R', /holds ':', '\/', '@' or a backslash/],
    ['a\\b@R', /or a backslash/],
    ['a\nb@R', /cannot be seen/],
    ['a\0@R', /cannot be seen/],
    ['a\u200b@R', /cannot be seen/],
    ['a\u202eb@R', /cannot be seen/],
    [`${'a'.repeat(129)}@R`, /longer than 128 characters/],
    ['WELLKNOWN/ANONYMOUS@R', /well-known/],
    ['alice@r', /only clients of the broker's realm R are accepted, and this one is of 'r'/],
    ['admin@OTHER', /this one is of 'OTHER'/],
    ['admin@', /this one is of ''/],
  ]
  for (const [name, why] of refusals) assert.throws(() => shortNameOf(principal(name), 'R'), why, name)
})

test('a realm in a refusal is short and printable', () => {
  const name = `a@\u001b[2J${'A'.repeat(5000)}`
  assert.throws(
    () => shortNameOf(principal(name), 'R'),
    (error: Error) => error.message.length < 250 && !error.message.includes('\u001b'),
  )
})

test('a principal in the settings has components and perhaps a realm', () => {
  assert.deepEqual(parsePrincipal('kafka/b.test@R.TEST'), { components: ['kafka', 'b.test'], realm: 'R.TEST' })
  assert.deepEqual(parsePrincipal('kafka/b.test'), { components: ['kafka', 'b.test'], realm: '' })
  for (const text of ['', '@R', 'kafka/@R', '/b@R', 'a b@R', 'kafka/b@', 'kafka/b@R@S', 'kafka/b@R/S', 'kafka\\/b@R'])
    assert.equal(parsePrincipal(text), null, text)
})

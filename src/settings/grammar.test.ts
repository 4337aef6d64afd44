import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import {
  advertisedHost,
  bindHost,
  boolean,
  duration,
  durationOrUnlimited,
  filePath,
  folderPath,
  glob,
  integer,
  level,
  MASK,
  namespace,
  network,
  parseDuration,
  parseSize,
  port,
  redisUri,
  type Scalar,
  secret,
  showDuration,
  showSize,
  size,
  sizeOrUnlimited,
  string,
  wholeSeconds,
} from './grammar.ts'

const shown: readonly Scalar<unknown>[] = [
  ...[advertisedHost(), bindHost(), boolean(), duration(), durationOrUnlimited(), filePath(), folderPath(), glob()],
  ...[
    integer(),
    level(),
    namespace(),
    network(),
    port(),
    redisUri(),
    size(),
    sizeOrUnlimited(),
    string(),
    wholeSeconds(),
  ],
]

test('the shown text of a duration or a size parses to the same value', () => {
  fc.assert(
    fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), value => {
      assert.equal(parseDuration(showDuration(value)), value)
      assert.equal(parseSize(showSize(value)), value)
    }),
  )
})

test('parsing any text never throws, and its shown form fits one line', () => {
  const numbers = fc.tuple(
    fc.bigInt({ min: -(10n ** 18n) }),
    fc.constantFrom('', 'ms', 's', 'd', 'KB', 'TB', ' s', 'kb'),
  )
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    numbers.map(([digits, unit]) => `${digits}${unit}`),
    fc.webUrl().map(url => url.replace(/^https?/, 'redis')),
  )
  fc.assert(
    fc.property(text, given => {
      for (const scalar of shown) {
        const value = scalar.parse(given)
        assert.ok(typeof value !== 'number' || Number.isSafeInteger(value), `${scalar.name} ${given}`)
        assert.doesNotMatch(scalar.show(given), /[\p{Cc}\u2028\u2029]/u)
      }
    }),
    { numRuns: 50 },
  )
})

test('a secret and the password in a URI are never shown', () => {
  const word = fc.stringMatching(/^[a-z0-9]{8,20}$/)
  fc.assert(
    fc.property(word, password => {
      assert.equal(secret().show(password), MASK)
      assert.ok(!redisUri().show(`redis://user:${password}@host:6379/0`).includes(password))
      assert.ok(!redisUri().show(`redis//${password}@host`).includes(password))
    }),
  )
})

test('a network is an IP address, alone or with a prefix length that fits it', () => {
  const takes = ['10.0.0.1', '10.0.0.0/8', '0.0.0.0/0', '::1', 'fd00::/8', '2001:db8::/128']
  assert.deepEqual(
    takes.map(text => network().parse(text)),
    takes,
  )
  for (const text of [
    '',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '::/129',
    'proxy',
    'all',
    '10.0.0.1, ::1',
  ])
    assert.equal(network().parse(text), undefined, text)
})

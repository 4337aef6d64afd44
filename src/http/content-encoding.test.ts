import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodingFor } from './content-encoding.ts'

test('a client gets the first offered encoding that it takes', () => {
  const cases: readonly (readonly [accepted: string, expected: string | null])[] = [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip;q=1.0, br;q=0.1', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br ; Q=0.000 , *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', null],
    ['identity', null],
    ['deflate, zstd', null],
    ['', null],
    ['br;q=nonsense', null],
    ['__proto__, constructor', null],
  ]
  for (const [accepted, expected] of cases) assert.equal(encodingFor(accepted, ['br', 'gzip']), expected, accepted)
  assert.equal(encodingFor('br, gzip', []), null)
})

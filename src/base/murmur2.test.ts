import assert from 'node:assert/strict'
import { test } from 'node:test'
import { murmur2 } from './murmur2.ts'

test('a key has the hash that the Java client gives it', () => {
  // org.apache.kafka.common.utils.UtilsTest#testMurmur2
  const known: readonly (readonly [string, number])[] = [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ]
  for (const [key, hash] of known) assert.equal(murmur2(Buffer.from(key)), hash, key)
})

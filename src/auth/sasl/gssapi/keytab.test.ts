import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeKeytab } from '../../../../testing/kerberos-client.ts'
import { mutate } from '../../../../testing/mutation.ts'
import { seed } from '../../../../testing/seed.ts'
import { seededRandom } from '../../../base/random.ts'
import { entriesOf, KeytabError, readKeytab } from './keytab.ts'

const random = seededRandom(seed)
const entry = (kvno: number, principal = 'kafka/b.test@R') => ({
  principal,
  kvno,
  enctype: 17,
  bytes: random.bytes(16),
})
const OWN = { components: ['kafka', 'b.test'], realm: 'R' }
const kvnos = (file: Buffer) => entriesOf(readKeytab(file), OWN).map(({ kvno }) => kvno)

test('the entries of a principal come with the newest key version first', () => {
  const others = ['kafka/b.test@S', 'kafka/c.test@R', 'kafka@R', 'kafka/b.test/x@R'].map(name => entry(9, name))
  assert.deepEqual(kvnos(writeKeytab([entry(1), ...others, entry(3), entry(2)])), [3, 2, 1])
})

test('a key version has 32 bits, or 8 in the keytabs of old programs', () => {
  assert.deepEqual(kvnos(writeKeytab([entry(70_000)])), [70_000])
  assert.deepEqual(kvnos(writeKeytab([entry(0x203)], 1)), [3])
  const zero = writeKeytab([entry(5)])
  zero.writeUInt32BE(0, zero.length - 4)
  assert.deepEqual(kvnos(zero), [5])
})

test('holes of deleted entries are skipped, and a size of 0 ends the keytab', () => {
  const [first, second] = [writeKeytab([entry(1)]), writeKeytab([entry(2)])]
  const hole = Buffer.from(second.subarray(2))
  hole.writeInt32BE(-hole.readInt32BE())
  assert.deepEqual(kvnos(Buffer.concat([first, hole, second.subarray(2)])), [2, 1])
  assert.deepEqual(kvnos(Buffer.concat([first, Buffer.alloc(4), second.subarray(2)])), [1])
})

test('a damaged keytab is read or refused with a reason, and nothing else happens', () => {
  const file = writeKeytab([entry(1), entry(2), entry(3)])
  let refused = 0
  for (let times = 0; times < 5_000; times++) {
    try {
      readKeytab(mutate(file, random))
    } catch (error) {
      assert(error instanceof KeytabError)
      refused++
    }
  }
  assert(refused > 0)
  for (let length = 0; length < 2; length++)
    assert.throws(() => readKeytab(file.subarray(0, length)), /is not a keytab/)
})

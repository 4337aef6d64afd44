import assert from 'node:assert/strict'
import { pbkdf2Sync } from 'node:crypto'
import { test } from 'node:test'
import { ITERATIONS } from '../../api/words.ts'
import { seededRandom } from '../../base/random.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { credentialOf, makeCredential, rowsOf } from './credential-record.ts'

const fieldsOf = (rows: ReturnType<typeof rowsOf>) =>
  new Map(rows.flatMap(({ key, value }) => (value === null ? [] : [[key, value]])))

test('a SCRAM credential is what RFC 7677 derives from its password', async () => {
  // The example of RFC 7677, section 3.
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
  const random = { ...seededRandom(1), bytes: () => salt }
  const asked = { mechanism: 'SCRAM-SHA-256', iterations: 4_096, tenantId: null } as const
  assert.deepEqual(await makeCredential(asked, 'pencil', random), {
    ...asked,
    salt: 'W22ZaJ0SNY7soEsUEjb6gQ==',
    passwordHash: 'WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=',
    serverKey: 'wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
  })
})

test('a PLAIN credential is 256 bits of PBKDF2 with HMAC-SHA-256, 10,000 rounds and a salt of 128 bits of its own', async () => {
  const asked = { mechanism: 'PLAIN', iterations: ITERATIONS.fallback, tenantId: null } as const
  assert.equal(asked.iterations, 10_000)
  const random = seededRandom(1)
  const [one, other] = [await makeCredential(asked, 'pencil', random), await makeCredential(asked, 'pencil', random)]
  for (const { salt, passwordHash, serverKey } of [one, other]) {
    const bytes = Buffer.from(salt, 'base64')
    assert.deepEqual([bytes.length, serverKey], [16, null])
    assert.equal(passwordHash, pbkdf2Sync('pencil', bytes, 10_000, 32, 'sha256').toString('base64'))
  }
  assert.notEqual(one.salt, other.salt)
})

test('a credential is read as it was stored, and the error for a broken one names the field', async () => {
  const random = seededRandom(1)
  for (const mechanism of ['SCRAM-SHA-256', 'PLAIN'] as const) {
    for (const tenantId of ['acme', null]) {
      const made = await makeCredential({ mechanism, iterations: 5_000, tenantId }, 'password', random)
      assert.deepEqual(credentialOf('ada', fieldsOf(rowsOf(made))), made)
      for (const field of ['mechanism', 'password_hash', 'salt']) {
        const fields = fieldsOf(rowsOf(made))
        fields.delete(field)
        assert.throws(
          () => credentialOf('ada', fields),
          (error: Error) =>
            error instanceof UnreadableDocument && error.message.includes(`"ada" cannot be read: it has no ${field}`),
        )
      }
    }
  }
})

test('a stored number of iterations outside of its range is refused, before anything is computed with it', async () => {
  const random = seededRandom(1)
  const made = await makeCredential({ mechanism: 'PLAIN', iterations: 5_000, tenantId: null }, 'password', random)
  for (const iterations of ['0', '1', '-10000', '4095', '1000001', '2147483648', '5000.5', 'many', ' ', '1e9']) {
    const fields = fieldsOf(rowsOf(made)).set('iterations', Buffer.from(iterations))
    assert.throws(() => credentialOf('ada', fields), /it has no iterations that this version knows/, iterations)
  }
})

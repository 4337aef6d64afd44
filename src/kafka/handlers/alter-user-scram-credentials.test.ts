import assert from 'node:assert/strict'
import { pbkdf2Sync } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../../testing/broker.ts'
import { authenticate } from '../../../testing/scram-client.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { createMemoryStore } from '../../../testing/sim/memory-store.ts'
import { listCredentials, storeCredential } from '../../admin/credentials.ts'
import { KIND } from '../../auth/clients/credential-record.ts'
import { openScram } from '../../auth/sasl/scram.ts'
import { systemClock } from '../../base/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { errorOf, NONE } from '../../protocol/errors.ts'
import { alterUserScramCredentials } from '../../protocol/messages/alter-user-scram-credentials.ts'
import { describeUserScramCredentials } from '../../protocol/messages/describe-user-scram-credentials.ts'
import { UNNAMED } from '../../store/unreadable.ts'

const PASSWORD = 'correct horse'
const SALT = Buffer.from('1v2w3xclientsalt')
const ITERATIONS = 8_192
const SALTED = pbkdf2Sync(PASSWORD, SALT, ITERATIONS, 32, 'sha256')
const DEFAULTS = { mechanism: 1, iterations: ITERATIONS, salt: SALT, saltedPassword: SALTED }

interface Asked {
  readonly deletions?: readonly { readonly name: string; readonly mechanism?: number }[]
  readonly upsertions?: readonly {
    readonly name: string
    readonly mechanism?: number
    readonly iterations?: number
    readonly salt?: Uint8Array
    readonly saltedPassword?: Uint8Array
  }[]
}

async function open(t: TestContext) {
  const store = createMemoryStore(new SimulatedClock())
  const wire = await (await startBroker(t, {}, { openStore: async () => store })).connect()
  const rooms = { store, clock: systemClock, random: seededRandom(1), unreadable: UNNAMED }
  /** Returns each user with the name of its error, or with `stored`, and the message. */
  const alter = async ({ deletions = [], upsertions = [] }: Asked) => {
    const { results } = await wire.send(alterUserScramCredentials, 0, {
      deletions: deletions.map(each => ({ mechanism: 1, ...each })),
      upsertions: upsertions.map(each => ({ ...DEFAULTS, ...each })),
    })
    return results.map(({ user, errorCode, errorMessage }) => {
      return [user, errorCode === NONE ? 'done' : errorOf(errorCode)!.name, errorMessage]
    })
  }
  const listed = async () =>
    (await listCredentials(rooms)).credentials.map(each => [
      each.username,
      each.mechanism,
      each.iterations,
      each.tenantId,
    ])
  return { store, wire, rooms, alter, listed }
}

test("a client's salt and iterations are stored, the password is right for SCRAM, and a deletion removes it", async t => {
  const { alter, listed, rooms, wire, store } = await open(t)
  assert.deepEqual(await alter({ upsertions: [{ name: 'ada' }, { name: 'zoë', iterations: 4_096 }] }), [
    ['ada', 'done', null],
    ['zoë', 'done', null],
  ])
  const { serverFirst, outcome } = await authenticate(openScram(rooms), { username: 'ada', password: PASSWORD })
  assert.equal(outcome.kind, 'success')
  assert.match(serverFirst!, new RegExp(`,s=${SALT.toString('base64')},i=8192$`))
  for (const value of (await store.load(KIND, 'ada'))!.fields.values())
    assert.notEqual(Buffer.from(value).toString(), SALTED.toString('base64'))

  const { results } = await wire.send(describeUserScramCredentials, 0, { users: null })
  assert.deepEqual(
    results.map(({ user, credentialInfos }) => [user, credentialInfos]),
    [
      ['ada', [{ mechanism: 1, iterations: 8_192 }]],
      ['zoë', [{ mechanism: 1, iterations: 4_096 }]],
    ],
  )
  // The decomposed form of the name is the same user.
  assert.deepEqual(await alter({ deletions: [{ name: 'ada' }, { name: 'zoe\u0308' }] }), [
    ['ada', 'done', null],
    ['zoe\u0308', 'done', null],
  ])
  assert.deepEqual(await listed(), [])
})

test('a credential of any mechanism is replaced with its tenant, and a PLAIN credential is not deleted', async t => {
  const { alter, listed, rooms } = await open(t)
  const stored = { password: PASSWORD, iterations: 5_000 }
  await storeCredential(rooms, { ...stored, username: 'ada', mechanism: 'SCRAM-SHA-256', tenantId: 'acme' })
  await storeCredential(rooms, { ...stored, username: 'bob', mechanism: 'PLAIN', tenantId: 'blue' })
  await storeCredential(rooms, { ...stored, username: 'eve', mechanism: 'PLAIN', tenantId: null })
  const missing = 'Attempt to delete a user credential that does not exist'
  assert.deepEqual(
    await alter({ deletions: [{ name: 'eve' }, { name: 'joe' }], upsertions: [{ name: 'ada' }, { name: 'bob' }] }),
    [
      ['eve', 'RESOURCE_NOT_FOUND', missing],
      ['joe', 'RESOURCE_NOT_FOUND', missing],
      ['ada', 'done', null],
      ['bob', 'done', null],
    ],
  )
  assert.deepEqual(await listed(), [
    ['ada', 'SCRAM-SHA-256', 8_192, 'acme'],
    ['bob', 'SCRAM-SHA-256', 8_192, 'blue'],
    ['eve', 'PLAIN', 5_000, null],
  ])
})

test('a row that cannot be done is refused with its reason, and the other rows are done', async t => {
  const { alter, listed, store } = await open(t)
  const strange = [{ key: 'mechanism', value: Buffer.from('SCRAM-SHA-512') }]
  for (const name of ['strange', 'odd']) await store.commit({ kind: KIND, name, expect: 0, changes: strange })
  const unreadable = (name: string) =>
    `The stored credential of "${name}" cannot be read: it has no mechanism that this version knows.`
  const [bad, unsupported] = ['UNACCEPTABLE_CREDENTIAL', 'UNSUPPORTED_SASL_MECHANISM']
  const unprepared = 'holds characters or mixes directions of writing that SASLprep (RFC 4013) forbids'
  assert.deepEqual(
    await alter({
      deletions: [{ name: 'a', mechanism: 0 }, { name: 'b', mechanism: 2 }, { name: 'odd' }, { name: 'x:y' }],
      upsertions: [
        { name: 'good' },
        { name: '' },
        { name: 'c', mechanism: 2 },
        { name: 'd', mechanism: 3 },
        { name: 'e', iterations: 4_095 },
        { name: 'f', iterations: 1_000_001 },
        { name: 'g', iterations: -1 },
        { name: 'group:x' },
        { name: 'h'.repeat(129) },
        { name: 'ｉ' },
        { name: 'j\u1806' },
        { name: '\u05d0k' },
        { name: 'l', salt: Buffer.alloc(0) },
        { name: 'm', salt: Buffer.alloc(257) },
        { name: 'n', saltedPassword: Buffer.alloc(0) },
        { name: 'o', saltedPassword: Buffer.alloc(64) },
        { name: 'strange' },
        { name: 'last', iterations: 1_000_000, salt: Buffer.alloc(256) },
      ],
    }),
    [
      ['a', unsupported, 'Unknown SCRAM mechanism: 0'],
      ['b', unsupported, 'SCRAM-SHA-512 is not supported; the broker has SCRAM-SHA-256'],
      ['odd', bad, unreadable('odd')],
      ['x:y', 'RESOURCE_NOT_FOUND', 'Attempt to delete a user credential that does not exist'],
      ['good', 'done', null],
      ['', bad, 'Username must not be empty'],
      ['c', unsupported, 'SCRAM-SHA-512 is not supported; the broker has SCRAM-SHA-256'],
      ['d', unsupported, 'Unknown SCRAM mechanism: 3'],
      ['e', bad, 'Too few iterations: 4095; the minimum is 4096'],
      ['f', bad, 'Too many iterations: 1000001; the maximum is 1000000'],
      ['g', bad, 'Too few iterations: -1; the minimum is 4096'],
      ['group:x', bad, "The username holds ':', which names of users do not have"],
      ['h'.repeat(129), bad, 'The username is longer than 128 characters'],
      ['ｉ', bad, "The username holds look-alikes of other characters; write 'i'"],
      ['j\u1806', bad, `The username ${unprepared}`],
      ['\u05d0k', bad, `The username ${unprepared}`],
      ['l', bad, 'The salt has 0 bytes, and not 1 to 256'],
      ['m', bad, 'The salt has 257 bytes, and not 1 to 256'],
      ['n', bad, 'The saltedPassword has 0 bytes, and not 32'],
      ['o', bad, 'The saltedPassword has 64 bytes, and not 32'],
      ['strange', bad, unreadable('strange')],
      ['last', 'done', null],
    ],
  )
  assert.deepEqual(
    (await listed()).map(([username]) => username),
    ['good', 'last'],
  )
})

test('a user that one request names twice, in any form, keeps its credential', async t => {
  const { alter, listed } = await open(t)
  await alter({ upsertions: [{ name: 'ada' }, { name: 'zoë' }] })
  const twice = ['DUPLICATE_RESOURCE', 'A user credential cannot be altered twice in the same request']
  assert.deepEqual(
    await alter({
      deletions: [{ name: 'ada' }, { name: 'zoë' }],
      upsertions: [{ name: 'ada', iterations: 5_000 }, { name: 'zoe\u0308' }, { name: 'bob' }],
    }),
    [
      ['ada', ...twice],
      ['zoë', ...twice],
      ['zoe\u0308', ...twice],
      ['bob', 'done', null],
    ],
  )
  assert.deepEqual(
    (await listed()).map(([username, , iterations]) => [username, iterations]),
    [
      ['ada', 8_192],
      ['bob', 8_192],
      ['zoë', 8_192],
    ],
  )
})

test('while the store is away every user gets the error, once', async t => {
  const { alter, store } = await open(t)
  store.faults.failNext('load', 'unavailable', 99)
  const rows = await alter({ deletions: [{ name: 'ada' }], upsertions: [{ name: 'ada' }, { name: 'bob' }] })
  assert.deepEqual(
    rows.map(([user, error]) => [user, error]),
    [
      ['ada', 'KAFKA_STORAGE_ERROR'],
      ['bob', 'KAFKA_STORAGE_ERROR'],
    ],
  )
})

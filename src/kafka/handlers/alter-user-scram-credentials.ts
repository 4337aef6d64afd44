// AlterUserScramCredentials 0 (KIP-554): stores and deletes SCRAM credentials. Kafka's kafka-configs.sh sends it for a
// user with a password. The client salts the password, so the broker sees the salted password, and stores only the
// keys that follow from it (admin/credentials.ts).
//
// Each user has its own result. A user that is named twice gets DUPLICATE_RESOURCE, and nothing of it changes. A
// stored PLAIN credential is replaced by an upsertion, because a user has one credential, and does not exist for a
// deletion. The broker has no SCRAM-SHA-512.

import { deleteScramCredential, storeSaltedCredential } from '../../admin/credentials.ts'
import { ITERATIONS } from '../../api/words.ts'
import { canonicalUsername } from '../../auth/user-rules.ts'
import { aFewAtATime } from '../../base/a-few.ts'
import {
  because,
  DUPLICATE_RESOURCE,
  NONE,
  RESOURCE_NOT_FOUND,
  type Refusal,
  UNACCEPTABLE_CREDENTIAL,
  UNSUPPORTED_SASL_MECHANISM,
} from '../../protocol/errors.ts'
import { alterUserScramCredentials } from '../../protocol/messages/alter-user-scram-credentials.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { handler, type Rooms } from '../handler.ts'
import { onCluster } from '../needs.ts'

/** Kafka's numbers of the mechanisms. */
const SCRAM_SHA_256 = 1
const SCRAM_SHA_512 = 2

type Body = RequestOf<typeof alterUserScramCredentials>
type Deletion = Body['deletions'][number]
type Upsertion = Body['upsertions'][number]

export const alterUserScramCredentialsHandler = handler(alterUserScramCredentials, rooms => ({
  needs: () => [onCluster('ALTER')],
  audit: ({ body: { deletions, upsertions } }) => ({
    verb: 'alter SCRAM credentials',
    what: { delete: deletions.map(({ name }) => name), store: upsertions.map(({ name }) => name) },
  }),
  async answer({ body }) {
    const rows = rowsOf(body)
    const counts = new Map<string, number>()
    for (const { name } of rows) {
      const stored = canonicalUsername(name)
      counts.set(stored, (counts.get(stored) ?? 0) + 1)
    }
    const isTwice = (name: string) => counts.get(canonicalUsername(name))! > 1
    const once = new Map(rows.map(row => [row.name, row]))
    return {
      results: await aFewAtATime(rooms.clock, [...once.values()], async row =>
        resultOf(row.name, isTwice(row.name) ? TWICE : await alter(rooms, row)),
      ),
    }
  },
  refused: ({ body }, refusal) => ({
    results: [...new Set(rowsOf(body).map(({ name }) => name))].map(name => resultOf(name, refusal)),
  }),
}))

const MISSING = because(RESOURCE_NOT_FOUND, 'Attempt to delete a user credential that does not exist')
const TWICE = because(DUPLICATE_RESOURCE, 'A user credential cannot be altered twice in the same request')

function rowsOf({ deletions, upsertions }: Body): readonly (Deletion | Upsertion)[] {
  return [...deletions, ...upsertions]
}

function resultOf(user: string, refusal: Refusal | null) {
  return { user, errorCode: refusal?.code ?? NONE, errorMessage: refusal?.message ?? null }
}

async function alter(rooms: Rooms, row: Deletion | Upsertion): Promise<Refusal | null> {
  const objection = objectionTo(row)
  if (objection !== null) return objection
  try {
    return 'salt' in row ? await upsert(rooms, row) : await remove(rooms, row)
  } catch (error) {
    if (!(error instanceof UnreadableDocument)) throw error
    return because(UNACCEPTABLE_CREDENTIAL, error.message)
  }
}

function objectionTo({ name, mechanism }: Deletion | Upsertion): Refusal | null {
  if (name === '') return because(UNACCEPTABLE_CREDENTIAL, 'Username must not be empty')
  if (mechanism === SCRAM_SHA_256) return null
  const message =
    mechanism === SCRAM_SHA_512
      ? 'SCRAM-SHA-512 is not supported; the broker has SCRAM-SHA-256'
      : `Unknown SCRAM mechanism: ${mechanism}`
  return because(UNSUPPORTED_SASL_MECHANISM, message)
}

async function upsert(rooms: Rooms, { name: username, iterations, salt, saltedPassword }: Upsertion) {
  const unacceptable = (message: string) => because(UNACCEPTABLE_CREDENTIAL, message)
  if (iterations < ITERATIONS.min)
    return unacceptable(`Too few iterations: ${iterations}; the minimum is ${ITERATIONS.min}`)
  if (iterations > ITERATIONS.max)
    return unacceptable(`Too many iterations: ${iterations}; the maximum is ${ITERATIONS.max}`)
  const outcome = await storeSaltedCredential(rooms, { username, iterations, salt, saltedPassword })
  return outcome.kind === 'stored' ? null : unacceptable(`The ${outcome.field} ${outcome.message}`)
}

async function remove(rooms: Rooms, { name }: Deletion): Promise<Refusal | null> {
  return (await deleteScramCredential(rooms, name)) ? null : MISSING
}

// SASL credentials of Kafka clients. What is secret of them goes in and never comes out.

import { z } from 'zod'
import {
  type CredentialRefusal,
  type CredentialView,
  changeCredential,
  deleteCredential,
  describeCredential,
  listCredentials,
  storeCredential,
} from '../../admin/credentials.ts'
import { DEFAULT_ITERATIONS, MAX_ITERATIONS, MECHANISMS, MIN_ITERATIONS } from '../../auth/credential-record.ts'
import { pageOf, pagingQuery, searchFor } from '../paging.ts'
import { type Problem, problem } from '../problems.ts'
import { reply, route } from '../route.ts'

const credentialShape = z
  .object({
    username: z.string(),
    mechanism: z.enum(MECHANISMS),
    iterations: z.int(),
    // The name that the credential has in the store, and by which it is specified.
    tenant_id: z.string().nullable(),
  })
  .meta({ id: 'Credential' })

const username = z.string().min(1).max(1_024).meta({ description: 'At most 128 characters, without a colon.' })
const password = z
  .string()
  .meta({ description: '8 to 1024 bytes of any Unicode.', examples: ['correct horse battery staple'] })
const mechanism = z.enum(MECHANISMS)
const iterations = z.int().min(MIN_ITERATIONS).max(MAX_ITERATIONS)
const tenant = z.string().min(1).nullable()

const params = z.object({ username })

export const credentialRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/credentials',
    needs: 'viewer',
    verb: 'list credentials',
    tag: 'security',
    doc: 'Who may authenticate with which mechanism, without anything secret.',
    query: pagingQuery(['username', 'mechanism', 'tenant_id']),
    answers: {
      200: z.object({
        credentials: z.array(credentialShape),
        total: z.int(),
        unreadable: z.array(z.string()).meta({
          description: 'Users whose credential was written by somebody else in a form that is not read here.',
        }),
      }),
    },
    async answer({ query }, rooms) {
      const { credentials, unreadable } = await listCredentials(rooms)
      const isWanted = searchFor(query.q)
      const wanted = credentials.filter(each => isWanted(each.username)).map(shown)
      const page = pageOf(
        wanted,
        query,
        each => each[query.sort],
        each => each.username,
      )
      return reply(200, { credentials: page, total: wanted.length, unreadable })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/credentials/:username',
    needs: 'viewer',
    verb: 'describe credential',
    tag: 'security',
    doc: 'The mechanism and the tenant of one user.',
    params,
    answers: { 200: credentialShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ params: { username } }, rooms) {
      const credential = await describeCredential(rooms, username)
      return credential === null ? missing() : reply(200, shown(credential))
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/credentials',
    needs: 'admin',
    verb: 'store credential',
    tag: 'security',
    doc: 'Sets the credential of a user, in place of the one that is there. Connections that are there live on.',
    body: z.object({
      username,
      password,
      mechanism: mechanism.default('SCRAM-SHA-256'),
      iterations: iterations.default(DEFAULT_ITERATIONS),
      tenant_id: tenant.default(null),
    }),
    audited: ['username', 'mechanism', 'iterations', 'tenant_id'],
    answers: { 201: credentialShape, 200: credentialShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ body: { tenant_id: tenantId, ...asked } }, rooms) {
      const outcome = await storeCredential(rooms, { ...asked, tenantId })
      return outcome.kind === 'stored' ? reply(outcome.isNew ? 201 : 200, shown(outcome.credential)) : refused(outcome)
    },
  }),

  route({
    method: 'PUT',
    path: '/api/v1/credentials/:username',
    needs: 'admin',
    verb: 'change credential',
    tag: 'security',
    doc: 'Changes what is named of a credential. Another mechanism or other iterations need the password.',
    params,
    body: z.object({
      password: password.optional(),
      mechanism: mechanism.optional(),
      iterations: iterations.optional(),
      tenant_id: tenant.optional(),
    }),
    audited: ['mechanism', 'iterations', 'tenant_id'],
    answers: { 200: credentialShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ params: { username }, body: { tenant_id: tenantId, ...asked } }, rooms) {
      const outcome = await changeCredential(rooms, { username, ...asked, tenantId })
      return outcome.kind === 'changed' ? reply(200, shown(outcome.credential)) : refused(outcome)
    },
  }),

  route({
    method: 'DELETE',
    path: '/api/v1/credentials/:username',
    needs: 'admin',
    verb: 'delete credential',
    tag: 'security',
    doc: 'Removes the credential of a user. Connections that are there live on.',
    params,
    answers: { 204: null },
    problems: { 409: 'UNREADABLE' },
    async answer({ params: { username } }, rooms) {
      return (await deleteCredential(rooms, username)) ? reply(204) : missing()
    },
  }),
]

function shown({ tenantId, ...credential }: CredentialView) {
  return { ...credential, tenant_id: tenantId }
}

function refused(refusal: CredentialRefusal): Problem {
  if (refusal.kind === 'unknown-user') return missing()
  const { message } = refusal
  const field = refusal.field === 'tenantId' ? 'tenant_id' : refusal.field
  return problem('INVALID_REQUEST', `The ${field} ${message}.`, { fields: { [field]: message } })
}

function missing(): Problem {
  return problem('NOT_FOUND', 'This user has no credential.')
}

// SASL credentials of Kafka clients. A password goes in, and no secret comes out.

import {
  type CredentialRefusal,
  type CredentialView,
  changeCredential,
  deleteCredential,
  describeCredential,
  listCredentials,
  storeCredential,
} from '../../admin/credentials.ts'
import { credentialNotice } from '../../admin/enforcement.ts'
import { pageOf, searchFor } from '../../admin/paging.ts'
import {
  credentialChangeShape,
  credentialListQuery,
  credentialListShape,
  credentialParams,
  credentialShape,
  newCredentialShape,
  storedCredentialShape,
} from '../../api/credentials.ts'
import { type Problem, problem } from '../problems.ts'
import { reply, route } from '../route.ts'

export const credentialRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/credentials',
    needs: 'viewer',
    verb: 'list credentials',
    tag: 'security',
    doc: 'The users of Kafka clients with their mechanisms, without secrets.',
    query: credentialListQuery,
    answers: { 200: credentialListShape },
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
    params: credentialParams,
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
    doc: 'Sets the credential of a user, in place of an existing one. Open connections stay.',
    body: newCredentialShape,
    audited: ['username', 'mechanism', 'iterations', 'tenant_id'],
    answers: { 201: storedCredentialShape, 200: storedCredentialShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ body: { tenant_id: tenantId, ...asked } }, rooms) {
      const outcome = await storeCredential(rooms, { ...asked, tenantId })
      if (outcome.kind !== 'stored') return refused(outcome)
      const stored = { ...shown(outcome.credential), notice: credentialNotice(rooms.settings, asked.mechanism) }
      return reply(outcome.isNew ? 201 : 200, stored)
    },
  }),

  route({
    method: 'PUT',
    path: '/api/v1/credentials/:username',
    needs: 'admin',
    verb: 'change credential',
    tag: 'security',
    doc: 'Changes the named members of a credential. Another mechanism or other iterations need the password.',
    params: credentialParams,
    body: credentialChangeShape,
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
    doc: 'Removes the credential of a user. Open connections stay.',
    params: credentialParams,
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

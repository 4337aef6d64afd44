// The rules for principals of Kafka clients. A rule allows an operation. Once enforcement is on, an operation that no
// rule allows is refused.

import type { z } from 'zod'
import { createAcl, deleteAcl, describeAcls, listAcls, matchAcls } from '../../admin/acls.ts'
import { aclNotice } from '../../admin/enforcement.ts'
import { pageOf, searchFor } from '../../admin/paging.ts'
import {
  aclListQuery,
  aclListShape,
  aclMatchQuery,
  aclMatchShape,
  grantedAclShape,
  grantShape,
  newAclShape,
  principalAclsShape,
  principalParams,
} from '../../api/acls.ts'
import type { Grant } from '../../auth/clients/acl-rules.ts'
import { type Problem, problem } from '../problems.ts'
import { reply, route } from '../route.ts'

function grantOf({ topic, resourceType, resource, operation }: z.output<typeof grantShape>): Grant | Problem {
  if ((topic === undefined) === (resource === undefined))
    return problem('INVALID_REQUEST', 'Either topic or resource is required, and not both.')
  if (topic !== undefined && resourceType === 'GROUP')
    return problem('INVALID_REQUEST', 'A topic has resourceType TOPIC; name a group with resource.')
  return { resourceType: resourceType ?? 'TOPIC', resource: (topic ?? resource)!, operation }
}

export const aclRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/acls',
    needs: 'viewer',
    verb: 'list acls',
    tag: 'security',
    doc: 'The rules of all principals.',
    query: aclListQuery,
    answers: { 200: aclListShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ query }, rooms) {
      const listed = await listAcls(rooms)
      const isWanted = searchFor(query.q)
      const rules = listed.rules.filter(({ principal, resource }) => {
        if (query.principal !== undefined && principal !== query.principal) return false
        return isWanted(principal) || isWanted(resource)
      })
      type Rule = (typeof rules)[number]
      const by = [(rule: Rule) => rule.principal, (rule: Rule) => `${rule.resourceType} ${rule.resource}`]
      const page = pageOf(rules, query, ...(query.sort === 'principal' ? by : by.reverse()), rule => rule.operation)
      return reply(200, { rules: page, total: rules.length, unreadable: listed.unreadable })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/acls/match',
    needs: 'viewer',
    verb: 'match acls',
    tag: 'security',
    doc: 'The rules of all principals that match this topic or this group: by its name, by a prefix, or for all.',
    query: aclMatchQuery,
    answers: { 200: aclMatchShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ query: { topic, group } }, rooms) {
      if ((topic === undefined) === (group === undefined))
        return problem('INVALID_REQUEST', 'Either topic or group is required, and not both.')
      const matched = topic === undefined ? matchAcls(rooms, 'GROUP', group!) : matchAcls(rooms, 'TOPIC', topic)
      return reply(200, await matched)
    },
  }),

  route({
    method: 'POST',
    path: '/api/v1/acls',
    needs: 'admin',
    verb: 'create acl',
    tag: 'security',
    doc: 'Grants an operation. An existing rule stays. Open connections keep the rules they began with.',
    body: newAclShape,
    audited: ['principal', 'topic', 'resourceType', 'resource', 'operation'],
    answers: { 201: grantedAclShape, 200: grantedAclShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ body: { principal, ...asked } }, rooms) {
      const grant = grantOf(asked)
      if ('kind' in grant) return grant
      const outcome = await createAcl(rooms, { principal, ...grant })
      if (outcome.kind === 'granted')
        return reply(outcome.isNew ? 201 : 200, { ...outcome.rule, notice: aclNotice(rooms.settings) })
      const { message } = outcome
      const field = outcome.field === 'resource' && asked.topic !== undefined ? 'topic' : outcome.field
      return problem('INVALID_REQUEST', `The ${field} cannot be granted: ${message}.`, {
        fields: { [field]: message },
      })
    },
  }),

  route({
    method: 'GET',
    path: '/api/v1/acls/:principal',
    needs: 'viewer',
    verb: 'describe acls',
    tag: 'security',
    doc: "One principal's rules; an empty list for a principal without rules.",
    params: principalParams,
    answers: { 200: principalAclsShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ params: { principal } }, rooms) {
      return reply(200, { principal, rules: await describeAcls(rooms, principal) })
    },
  }),

  route({
    method: 'DELETE',
    path: '/api/v1/acls/:principal',
    needs: 'admin',
    verb: 'delete acl',
    tag: 'security',
    doc: 'Takes back one rule of a principal, named by `topic`, or by `resourceType` and `resource`, and its `operation`.',
    params: principalParams,
    query: grantShape,
    answers: { 204: null },
    problems: { 409: 'UNREADABLE' },
    async answer({ params: { principal }, query }, rooms) {
      const grant = grantOf(query)
      if ('kind' in grant) return grant
      if (await deleteAcl(rooms, { principal, ...grant })) return reply(204)
      return problem('NOT_FOUND', 'The principal has no such rule.')
    },
  }),
]

// Rules of what principals of Kafka clients may do. There are grants only; what no rule grants is refused once enforcement is on.

import { z } from 'zod'
import { createAcl, deleteAcl, describeAcls, listAcls, matchAcls } from '../../admin/acls.ts'
import { type Grant, OPERATIONS, RESOURCE_TYPES } from '../../auth/acl-rules.ts'
import { pageOf, pagingQuery, searchFor } from '../paging.ts'
import { type Problem, problem } from '../problems.ts'
import { reply, route } from '../route.ts'

const MAX_NAME = 1_024
const name = z.string().min(1).max(MAX_NAME)

const ruleShape = z
  .object({
    principal: z.string().meta({ description: 'A username, or group:<name>.' }),
    resourceType: z.enum(RESOURCE_TYPES),
    resource: z.string().meta({ description: 'A name, the beginning of names with * behind it, or * for all.' }),
    operation: z.enum(OPERATIONS),
  })
  .meta({ id: 'AclRule' })

const unreadable = z
  .array(z.string())
  .meta({ description: 'Principals whose stored rules were written by somebody else in a form that is not read here.' })

/** A rule's resource, in either form of the specification: `topic` alone, or a type and a resource. */
const grantFields = {
  topic: name.optional().meta({ description: 'Instead of resourceType and resource.' }),
  resourceType: z.enum(RESOURCE_TYPES).optional().meta({ description: 'TOPIC unless it is said.' }),
  resource: name.optional(),
  operation: z.enum(OPERATIONS),
}

interface Asked {
  readonly topic?: string | undefined
  readonly resourceType?: Grant['resourceType'] | undefined
  readonly resource?: string | undefined
  readonly operation: Grant['operation']
}

function grantOf({ topic, resourceType, resource, operation }: Asked): Grant | Problem {
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
    query: pagingQuery(['principal', 'resource']).extend({ principal: name.optional() }),
    answers: { 200: z.object({ rules: z.array(ruleShape), total: z.int(), unreadable }) },
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
    doc: 'The rules of all principals that grant something on this topic, or on this group: exact, by their beginning, or for all.',
    query: z.object({ topic: name.optional(), group: name.optional() }),
    answers: { 200: z.object({ rules: z.array(ruleShape), unreadable }) },
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
    doc: 'Grants an operation; a rule that is there stays. Connections that are there keep the rules they began with.',
    body: z.object({ principal: name, ...grantFields }),
    audited: ['principal', 'topic', 'resourceType', 'resource', 'operation'],
    answers: { 201: ruleShape, 200: ruleShape },
    problems: { 409: 'UNREADABLE' },
    async answer({ body: { principal, ...asked } }, rooms) {
      const grant = grantOf(asked)
      if ('kind' in grant) return grant
      const outcome = await createAcl(rooms, { principal, ...grant })
      if (outcome.kind === 'granted') return reply(outcome.isNew ? 201 : 200, outcome.rule)
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
    doc: "One principal's rules; none where nobody granted it anything.",
    params: z.object({ principal: name }),
    answers: { 200: z.object({ principal: z.string(), rules: z.array(ruleShape) }) },
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
    params: z.object({ principal: name }),
    query: z.object(grantFields),
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

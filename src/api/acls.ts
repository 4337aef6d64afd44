// The API schemas of ACL rules. A rule says what a principal of a Kafka client may do.

import { z } from 'zod'
import { noticeShape } from './notice.ts'
import { pagingQuery } from './paging.ts'
import { OPERATIONS, RESOURCE_TYPES } from './words.ts'

const MAX_NAME = 1_024
const name = z.string().min(1).max(MAX_NAME)

export const aclRuleShape = z
  .object({
    principal: z.string().meta({ description: 'A username, or group:<name>.' }),
    resourceType: z.enum(RESOURCE_TYPES),
    resource: z.string().meta({ description: 'A name, a prefix of names followed by *, or * for all.' }),
    operation: z.enum(OPERATIONS),
  })
  .meta({ id: 'AclRule' })

export type AclRule = z.infer<typeof aclRuleShape>

export const grantedAclShape = aclRuleShape.extend({ notice: noticeShape }).meta({ id: 'GrantedAclRule' })
export type GrantedAcl = z.infer<typeof grantedAclShape>

const unreadable = z
  .array(z.string())
  .meta({ description: 'Principals whose stored rules this version cannot read, because another program wrote them.' })

export const aclListQuery = pagingQuery(['principal', 'resource']).extend({ principal: name.optional() })
export const aclListShape = z.object({ rules: z.array(aclRuleShape), total: z.int(), unreadable })
export type AclList = z.infer<typeof aclListShape>

export const aclMatchQuery = z.object({ topic: name.optional(), group: name.optional() })
export const aclMatchShape = z.object({ rules: z.array(aclRuleShape), unreadable })

/** A rule's resource, in either form of the specification: `topic` alone, or a type and a resource. */
export const grantShape = z.object({
  topic: name.optional().meta({ description: 'The short form of resourceType TOPIC and this resource.' }),
  resourceType: z.enum(RESOURCE_TYPES).optional().meta({ description: 'TOPIC by default.' }),
  resource: name.optional(),
  operation: z.enum(OPERATIONS),
})

export const newAclShape = z.object({ principal: name, ...grantShape.shape })
export type NewAcl = z.input<typeof newAclShape>

export const principalParams = z.object({ principal: name })
export const principalAclsShape = z.object({ principal: z.string(), rules: z.array(aclRuleShape) })

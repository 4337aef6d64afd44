// CreateAcls 1-3 (KIP-140, KIP-290): grants rules. acls.ts says how a binding of Kafka is a rule. Connections that
// are open keep the rules that they began with.
//
// A binding of an operation that is no rule of its own (DESCRIBE and CREATE of `kafka-acls.sh --producer`) is accepted
// if the principal has a rule that implies it, or gets it by the same request. Nothing is stored for it. A binding that
// no rule can express gets INVALID_REQUEST, and the others are granted.

import { createAcls as grant, type NotGranted } from '../../admin/acls.ts'
import { isImplied } from '../../auth/clients/policy.ts'
import { canonicalUsername } from '../../auth/user-rules.ts'
import {
  because,
  INVALID_REQUEST,
  isRefusal,
  KAFKA_STORAGE_ERROR,
  NONE,
  POLICY_VIOLATION,
  type Refusal,
} from '../../protocol/errors.ts'
import { createAcls } from '../../protocol/messages/create-acls.ts'
import { UnreadableDocument } from '../../store/store.ts'
import { ACLS_OFF, notImplied, readCreation, sayBinding } from '../acls.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const createAclsHandler = handler(createAcls, rooms => ({
  needs: () => [onCluster('ALTER')],
  audit: ({ body }) => ({
    verb: 'create acls',
    what: body.creations.map(({ principal, operation, resourceType, resourceName }) =>
      sayBinding(principal, operation, resourceType, resourceName),
    ),
  }),
  async answer({ body, connection }) {
    if (connection.policy === null) return { results: body.creations.map(() => rowOf(ACLS_OFF)) }
    const asked = body.creations.map(readCreation)
    const rules = asked.flatMap(each => (!isRefusal(each) && each.kind === 'rule' ? [each.rule] : []))
    const outcomes = await grant(rooms, rules)
    if (asked.some(each => !isRefusal(each) && each.kind === 'derived')) await rooms.acls.catchUp()
    const { grants } = rooms.acls.current()
    let next = 0
    const results = asked.map(each => {
      if (isRefusal(each)) return rowOf(each)
      if (each.kind === 'rule') return rowOf(refusalOf(outcomes[next++]!))
      const own = grants.get(canonicalUsername(each.principal)) ?? []
      return rowOf(isImplied(own, each.operation, each.type, each.pattern) ? null : notImplied(each))
    })
    return { results }
  },
  refused: ({ body }, refusal) => ({ results: body.creations.map(() => rowOf(refusal)) }),
}))

function refusalOf(outcome: NotGranted | null): Refusal | null {
  if (outcome === null) return null
  if (outcome instanceof UnreadableDocument) return because(KAFKA_STORAGE_ERROR, outcome.message)
  if (outcome.kind === 'full') return because(POLICY_VIOLATION, outcome.message)
  return because(INVALID_REQUEST, `The ${outcome.field} ${outcome.message}.`)
}

function rowOf(refusal: Refusal | null) {
  return { errorCode: refusal?.code ?? NONE, errorMessage: refusal?.message ?? null }
}

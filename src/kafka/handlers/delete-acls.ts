// DeleteAcls 1-3 (KIP-140, KIP-290): deletes the rules that match filters, and returns them. acls.ts says how a rule
// is a binding of Kafka. A rule that several filters match is returned by each of them, as in Kafka. Connections that
// are open keep the rules that they began with.

import { listAcls, deleteAcls as revoke } from '../../admin/acls.ts'
import { aFewAtATime } from '../../base/a-few.ts'
import { isRefusal, KAFKA_STORAGE_ERROR, NONE, type Refusal } from '../../protocol/errors.ts'
import { deleteAcls } from '../../protocol/messages/delete-acls.ts'
import { ACLS_OFF, type Binding, bindingOf, checkFilter, isMatch, sayBinding } from '../acls.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'

export const deleteAclsHandler = handler(deleteAcls, rooms => ({
  needs: () => [onCluster('ALTER')],
  audit: ({ body }) => ({
    verb: 'delete acls',
    what: body.filters.map(({ principalFilter, operation, resourceTypeFilter, resourceNameFilter }) =>
      sayBinding(principalFilter, operation, resourceTypeFilter, resourceNameFilter),
    ),
  }),
  async answer({ body, connection }) {
    if (connection.policy === null) return { filterResults: body.filters.map(() => refusedRow(ACLS_OFF)) }
    const { rules } = await listAcls(rooms)
    const listed = rules.map(rule => ({ rule, binding: bindingOf(rule) }))
    const found = await aFewAtATime(rooms.clock, body.filters, async filter => {
      return checkFilter(filter) ?? listed.filter(({ binding }) => isMatch(filter, binding))
    })
    const doomed = [...new Set(found.flatMap(each => (isRefusal(each) ? [] : each)))]
    const outcomes = await revoke(
      rooms,
      doomed.map(({ rule }) => rule),
    )
    const rows = new Map(doomed.map((each, at) => [each, rowOf(each.binding, outcomes[at] ?? null)]))
    const filterResults = found.map(each =>
      isRefusal(each)
        ? refusedRow(each)
        : { errorCode: NONE, errorMessage: null, matchingAcls: each.map(match => rows.get(match)!) },
    )
    return { filterResults }
  },
  refused: ({ body }, refusal) => ({ filterResults: body.filters.map(() => refusedRow(refusal)) }),
}))

function rowOf(binding: Binding, failure: Error | null) {
  const errorCode = failure === null ? NONE : KAFKA_STORAGE_ERROR.code
  return { errorCode, errorMessage: failure?.message ?? null, ...binding }
}

function refusedRow({ code, message }: Refusal) {
  return { errorCode: code, errorMessage: message, matchingAcls: [] }
}

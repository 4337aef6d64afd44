// DescribeClientQuotas 0-1 (KIP-546): lists the quotas of the users, client ids and addresses that match a filter.
// The rules are in admin/client-quotas.ts. Entities and values are in the order of Kafka's ClientQuotasImage.

import { describeClientQuotas as describe, type QuotaFilter } from '../../admin/client-quotas.ts'
import { because, INVALID_REQUEST, isRefusal, NONE, type Refusal } from '../../protocol/errors.ts'
import { describeClientQuotas } from '../../protocol/messages/describe-client-quotas.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'
import { orderEntity, orderRows, VALUE_ORDER } from '../quota-order.ts'

type Component = RequestOf<typeof describeClientQuotas>['components'][number]

/** The matches, by Kafka's DescribeClientQuotasRequest.MATCH_TYPE_*. */
const MATCHES: readonly QuotaFilter['match'][] = Object.freeze(['exact', 'default', 'any'])

export const describeClientQuotasHandler = handler(describeClientQuotas, rooms => ({
  needs: () => [onCluster('DESCRIBE_CONFIGS')],
  answer({ body: { components, strict } }) {
    const filters = filtersOf(components)
    if (isRefusal(filters)) return refuse(filters)
    const quotas = describe(rooms, filters, strict)
    if (isRefusal(quotas)) return refuse(quotas)
    const entries = quotas.map(({ entity, values }) => ({
      entity: orderEntity(Object.entries(entity).map(([entityType, entityName]) => ({ entityType, entityName }))),
      values: VALUE_ORDER.flatMap(key => (values[key] === undefined ? [] : [{ key, value: values[key] }])),
    }))
    return { errorCode: NONE, errorMessage: null, entries: orderRows(entries, 2) }
  },
  refused: (_, refusal) => refuse(refusal),
}))

function filtersOf(components: readonly Component[]): readonly QuotaFilter[] | Refusal {
  const filters: QuotaFilter[] = []
  for (const { entityType, matchType, match: name } of components) {
    const match = MATCHES[matchType]
    if (match === undefined) return because(INVALID_REQUEST, `Unknown match type ${matchType}`)
    filters.push({ type: entityType, match, name })
  }
  return filters
}

function refuse({ code, message }: Refusal): ResponseInput<typeof describeClientQuotas> {
  return { errorCode: code, errorMessage: message, entries: null }
}

// AlterClientQuotas 0-1 (KIP-546): sets and removes quotas of users, client ids and addresses. With validateOnly it
// only says whether it could. The rules are in admin/client-quotas.ts.
//
// An entity is changed completely or not at all. The answer is sent when the change is durable and in effect. As in
// Kafka it has one row for each entity, in the order of Kafka's hash map.

import { alterClientQuotas as alter } from '../../admin/client-quotas.ts'
import { NONE, type Refusal } from '../../protocol/errors.ts'
import { alterClientQuotas } from '../../protocol/messages/alter-client-quotas.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from '../handler.ts'
import { onCluster } from '../needs.ts'
import { orderEntity, orderRows } from '../quota-order.ts'

type Entry = RequestOf<typeof alterClientQuotas>['entries'][number]
type Row = ResponseInput<typeof alterClientQuotas>['entries'][number]

export const alterClientQuotasHandler = handler(alterClientQuotas, rooms => ({
  needs: () => [onCluster('ALTER_CONFIGS')],
  audit: ({ body }) => ({
    verb: 'alter quotas',
    what: body.entries.map(({ entity, ops }) => ({
      ...Object.fromEntries(entity.map(({ entityType, entityName }) => [entityType, entityName])),
      quotas: ops.map(({ key }) => key),
    })),
  }),
  async answer({ body: { entries, validateOnly } }) {
    const alterations = entries.map(({ entity, ops }) => ({
      entity: entity.map(({ entityType, entityName }) => ({ type: entityType, name: entityName })),
      edits: ops.map(({ key, value, remove }) => ({ key, value: remove ? null : value })),
    }))
    const outcomes = await alter(rooms, alterations, { validateOnly })
    const rows = new Map<string, Row>()
    for (const [at, entry] of entries.entries()) {
      const row = rowOf({ ...entry, entity: orderEntity(entry.entity) }, outcomes[at] ?? null)
      rows.set(JSON.stringify(row.entity), row)
    }
    return { entries: orderRows([...rows.values()], 16) }
  },
  refused: ({ body }, refusal) => ({
    entries: body.entries.map(entry => rowOf(entry, refusal)),
  }),
}))

function rowOf({ entity }: Pick<Entry, 'entity'>, refusal: Refusal | null): Row {
  return { errorCode: refusal?.code ?? NONE, errorMessage: refusal?.message ?? null, entity }
}

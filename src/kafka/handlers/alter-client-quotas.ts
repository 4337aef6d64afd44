// AlterClientQuotas 0-1: gives users, client ids and addresses quotas and takes them away, or with validateOnly says whether it
// could (KIP-546). The rules are in admin/client-quotas.ts.
//
// An entity is changed whole or not at all. The answer comes when the change is durable and counts.

import { alterClientQuotas as alter } from '../../admin/client-quotas.ts'
import { NONE, type Refusal } from '../../protocol/errors.ts'
import { alterClientQuotas } from '../../protocol/messages/alter-client-quotas.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'
import { handler } from './handler.ts'

type Entry = RequestOf<typeof alterClientQuotas>['entries'][number]
type Row = ResponseInput<typeof alterClientQuotas>['entries'][number]

export const alterClientQuotasHandler = handler(alterClientQuotas, rooms => ({
  async answer({ body: { entries, validateOnly } }) {
    const alterations = entries.map(({ entity, ops }) => ({
      entity: entity.map(({ entityType, entityName }) => ({ type: entityType, name: entityName })),
      edits: ops.map(({ key, value, remove }) => ({ key, value: remove ? null : value })),
    }))
    const outcomes = await alter(rooms, alterations, { validateOnly })
    return { entries: entries.map((entry, at) => rowOf(entry, outcomes[at] ?? null)) }
  },
  refused: ({ body }, refusal) => ({
    entries: body.entries.map(entry => rowOf(entry, refusal)),
  }),
}))

function rowOf({ entity }: Entry, refusal: Refusal | null): Row {
  return { errorCode: refusal?.code ?? NONE, errorMessage: refusal?.message ?? null, entity }
}

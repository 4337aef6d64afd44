// IncrementalAlterConfigs 0-1: sets and deletes single configs of topics, levels of loggers, and members of lists.
// With validateOnly it only says whether it could. The rules are in admin/configs.ts. The settings of a broker cannot
// be changed while it runs.
//
// A resource is changed completely or not at all. The answer is sent when the change is durable and in effect. The
// level of a logger lasts until the process ends, as in Kafka.

import { alterConfigs as alter } from '../../admin/configs.ts'
import type { ConfigEdit } from '../../admin/contract.ts'
import { because, INVALID_REQUEST, type Refusal } from '../../protocol/errors.ts'
import { incrementalAlterConfigs } from '../../protocol/messages/incremental-alter-configs.ts'
import type { RequestOf } from '../../protocol/schema.ts'
import { alteredRow, answerAlterations, auditOfConfigs, needsOfConfigs } from '../configs.ts'
import { handler } from '../handler.ts'

type Config = RequestOf<typeof incrementalAlterConfigs>['resources'][number]['configs'][number]

/** The operations, by Kafka's AlterConfigOp.OpType. */
const OPERATIONS: readonly ConfigEdit['operation'][] = Object.freeze(['set', 'delete', 'append', 'subtract'])

export const incrementalAlterConfigsHandler = handler(incrementalAlterConfigs, rooms => ({
  needs: ({ body }) => needsOfConfigs('ALTER_CONFIGS', body.resources),
  audit: ({ body }) => auditOfConfigs(body.resources),
  answer({ body: { resources, validateOnly }, permissions }) {
    const alterations = resources.map(({ resourceType, resourceName, configs }) => ({
      resourceType,
      resourceName,
      edits: editsOf(configs),
    }))
    return answerAlterations(permissions, alterations, false, changes => alter(rooms, changes, { validateOnly }))
  },
  refused: ({ body }, refusal) => ({
    responses: body.resources.map(resource => alteredRow(resource, refusal)),
  }),
}))

function editsOf(configs: readonly Config[]): readonly ConfigEdit[] | Refusal {
  const edits: ConfigEdit[] = []
  for (const { name, configOperation, value } of configs) {
    const operation = OPERATIONS[configOperation]
    if (operation === undefined) return because(INVALID_REQUEST, `Unknown operations type ${configOperation}`)
    edits.push({ name, operation, value })
  }
  return edits
}

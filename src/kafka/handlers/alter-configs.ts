// AlterConfigs 0-2: replaces the overrides of topics. An override that the request does not name is removed. With
// validateOnly it only says whether it could. The rules are in admin/configs.ts. The settings of a broker cannot be
// changed while it runs.
//
// A resource is changed completely or not at all. The answer is sent when the change is durable and in effect.

import { alterConfigs as alter } from '../../admin/configs.ts'
import { alterConfigs } from '../../protocol/messages/alter-configs.ts'
import { alteredRow, answerAlterations, auditOfConfigs, needsOfConfigs } from '../configs.ts'
import { handler } from '../handler.ts'

export const alterConfigsHandler = handler(alterConfigs, rooms => ({
  needs: ({ body }) => needsOfConfigs('ALTER_CONFIGS', body.resources),
  audit: ({ body }) => auditOfConfigs(body.resources),
  answer({ body: { resources, validateOnly }, permissions }) {
    const alterations = resources.map(({ resourceType, resourceName, configs }) => ({
      resourceType,
      resourceName,
      edits: configs.map(({ name, value }) => ({ name, operation: 'set' as const, value })),
    }))
    return answerAlterations(permissions, alterations, true, changes => alter(rooms, changes, { validateOnly }))
  },
  refused: ({ body }, refusal) => ({
    responses: body.resources.map(resource => alteredRow(resource, refusal)),
  }),
}))

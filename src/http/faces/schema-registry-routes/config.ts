// The routes of compatibility levels and of the other members of a configuration, of all subjects or of one.

import { z } from 'zod'
import { isRefusal, type RegistryRefusal } from '../../../registry/refusals.ts'
import type { JsonObject } from '../../../registry/state/content.ts'
import { type AnyRoute, reply } from '../../route.ts'
import { flag, registryRoute } from '../schema-registry-route.ts'
import { subjectParams } from './shapes.ts'

const object = z.record(z.string(), z.unknown()).nullish()
const toggle = z.boolean().nullish()
const level = z
  .string()
  .nullish()
  .meta({ examples: ['BACKWARD'] })

const members = {
  alias: z.string().nullish(),
  normalize: toggle,
  validateFields: toggle,
  validateNewSchemas: toggle,
  validateRules: toggle,
  compatibilityPolicy: z
    .string()
    .nullish()
    .meta({ examples: ['STRICT'] }),
  compatibilityGroup: z.string().nullish(),
  defaultMetadata: object,
  overrideMetadata: object,
  defaultRuleSet: object,
  overrideRuleSet: object,
}

/** A client may send the level by the name that GET answers. */
const sentConfig = z.object({ compatibility: level, compatibilityLevel: level, ...members })
const changedConfig = z.object({ compatibility: level, ...members })
const shownConfig = z.object({ compatibilityLevel: level, ...members })

const AUDITED = [
  'compatibility',
  'compatibilityLevel',
  'compatibilityPolicy',
  'compatibilityGroup',
  'normalize',
  'alias',
]
const REFUSED = 'INVALID_COMPATIBILITY_LEVEL, OPERATION_NOT_PERMITTED'

export const configRoutes: readonly AnyRoute[] = [
  registryRoute({
    method: 'GET',
    path: '/config',
    needs: 'read',
    verb: 'show level',
    doc: 'The level and the configuration of all subjects that have none of their own.',
    query: z.object({ defaultToGlobal: flag }),
    answers: { 200: shownConfig },
    answer: async ({ registry }) => shown(await registry.getConfig(null)),
  }),
  registryRoute({
    method: 'PUT',
    path: '/config',
    needs: 'administer',
    verb: 'set level',
    doc: 'Changes the level or other members of the configuration of all subjects. Null removes a member.',
    body: sentConfig,
    audited: AUDITED,
    answers: { 200: changedConfig },
    problems: { 422: REFUSED },
    answer: async ({ registry, body }) => shown(await registry.putConfig(null, sentIn(body))),
  }),
  registryRoute({
    method: 'DELETE',
    path: '/config',
    needs: 'administer',
    verb: 'reset level',
    doc: 'Takes the configuration of all subjects back to that of the settings. The answer is the old one.',
    answers: { 200: shownConfig },
    problems: { 422: 'OPERATION_NOT_PERMITTED' },
    answer: async ({ registry }) => shown(await registry.deleteConfig(null)),
  }),
  registryRoute({
    method: 'GET',
    path: '/config/:subject',
    needs: 'read',
    verb: 'show level of a subject',
    doc: 'The configuration that was set for a subject; with defaultToGlobal=true, the one that counts for it.',
    params: subjectParams,
    query: z.object({ defaultToGlobal: flag }),
    answers: { 200: shownConfig },
    problems: { 404: 'LEVEL_NOT_CONFIGURED' },
    answer: async ({ registry, params, query }) =>
      shown(await registry.getConfig(params.subject, { isDefaultedToGlobal: query.defaultToGlobal })),
  }),
  registryRoute({
    method: 'PUT',
    path: '/config/:subject',
    // Serializers of kafkajs set the level after they registered.
    needs: 'register',
    verb: 'set level of a subject',
    doc: 'Changes the level or other members of the configuration of a subject, which need not exist. A caller who may register may repeat the level in force; every other change needs an ADMIN.',
    params: subjectParams,
    body: sentConfig,
    audited: AUDITED,
    answers: { 200: changedConfig },
    problems: { 422: `${REFUSED}, INVALID_SUBJECT` },
    async answer({ registry, caller, params: { subject }, body }) {
      const sent = sentIn(body)
      const refused = caller.rights.refusalOf('administer', subject)
      if (refused === null) return shown(await registry.putConfig(subject, sent))
      const repeated = await registry.repeatLevel(subject, sent)
      return repeated === null ? refused : shown(repeated)
    },
  }),
  registryRoute({
    method: 'DELETE',
    path: '/config/:subject',
    needs: 'administer',
    verb: 'reset level of a subject',
    doc: 'Removes the configuration of a subject, so that the global one counts. The answer is the old one.',
    params: subjectParams,
    answers: { 200: shownConfig },
    problems: { 404: 'SUBJECT_NOT_FOUND', 422: 'OPERATION_NOT_PERMITTED' },
    answer: async ({ registry, params }) => shown(await registry.deleteConfig(params.subject)),
  }),
]

function sentIn({ compatibilityLevel, ...sent }: JsonObject): JsonObject {
  return compatibilityLevel == null ? sent : { compatibility: compatibilityLevel, ...sent }
}

function shown(config: JsonObject | RegistryRefusal) {
  return isRefusal(config) ? config : reply(200, config)
}

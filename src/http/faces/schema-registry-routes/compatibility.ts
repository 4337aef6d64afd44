// The routes that check whether a schema would fit a subject.

import { z } from 'zod'
import type { RegistryRefusal } from '../../../registry/refusals.ts'
import type { Checked } from '../../../registry/verbs/check.ts'
import { isProblem } from '../../problems.ts'
import { type Answer, type AnyRoute, reply } from '../../route.ts'
import { flag, registryRoute } from '../schema-registry-route.ts'
import { schemaIn } from './sent.ts'
import { names, schemaBody, subjectParams, versionParams } from './shapes.ts'

const query = z.object({ verbose: flag, normalize: flag })
const checked = z.object({ is_compatible: z.boolean(), messages: names.optional() })

export const compatibilityRoutes: readonly AnyRoute[] = [
  registryRoute({
    method: 'POST',
    path: '/compatibility/subjects/:subject/versions',
    needs: 'lookup',
    verb: 'check schema',
    doc: 'Whether the schema fits all versions that a registration would be compared with.',
    params: subjectParams,
    query,
    body: schemaBody,
    answers: { 200: checked },
    problems: { 422: 'INVALID_SCHEMA, SCHEMA_TOO_LARGE' },
    async answer({ registry, caller, params, query: { verbose, normalize }, body }) {
      const sent = schemaIn(body, caller)
      if (isProblem(sent)) return sent
      return answerOf(await registry.checkSubject(params.subject, sent, { normalize }), verbose)
    },
  }),
  registryRoute({
    method: 'POST',
    path: '/compatibility/subjects/:subject/versions/:version',
    needs: 'lookup',
    verb: 'check schema with a version',
    doc: 'Whether the schema fits this version, by the direction of the level of the subject.',
    params: versionParams,
    query,
    body: schemaBody,
    answers: { 200: checked },
    problems: { 404: 'VERSION_NOT_FOUND', 422: 'INVALID_SCHEMA, INVALID_VERSION, SCHEMA_TOO_LARGE' },
    async answer({ registry, caller, params, query: { verbose, normalize }, body }) {
      const sent = schemaIn(body, caller)
      if (isProblem(sent)) return sent
      return answerOf(await registry.checkVersion(params.subject, params.version, sent, { normalize }), verbose)
    },
  }),
]

const INVALID_SCHEMA = 42201

/** The reasons only come if the client asks for them; then an invalid schema is one. */
function answerOf(found: Checked | RegistryRefusal, isVerbose: boolean): Answer | RegistryRefusal {
  if (found.kind === 'checked') {
    const { isCompatible, messages } = found
    return reply(200, { is_compatible: isCompatible, ...(isVerbose ? { messages } : {}) })
  }
  if (!isVerbose || found.code !== INVALID_SCHEMA) return found
  return reply(200, { is_compatible: false, messages: [found.message] })
}

// The routes of modes, of all subjects or of one.

import { z } from 'zod'
import { type AnyRoute, reply } from '../../route.ts'
import { flag, registryRoute } from '../schema-registry-route.ts'
import { subjectParams } from './shapes.ts'

const shownMode = z.object({ mode: z.string() })
const sentMode = z.object({ mode: z.string().meta({ examples: ['READWRITE'] }) })
const SET = { 422: 'INVALID_MODE, OPERATION_NOT_PERMITTED' }

export const modeRoutes: readonly AnyRoute[] = [
  registryRoute({
    method: 'GET',
    path: '/mode',
    needs: 'read',
    verb: 'show mode',
    doc: 'The mode of all subjects that have none of their own.',
    answers: { 200: shownMode },
    answer: async ({ registry }) => shown(await registry.getMode(null)),
  }),
  registryRoute({
    method: 'PUT',
    path: '/mode',
    needs: 'administer',
    verb: 'set mode',
    doc: 'Sets the mode of all subjects: READWRITE, READONLY or IMPORT. IMPORT needs a registry without versions, or force=true.',
    query: z.object({ force: flag }),
    body: sentMode,
    audited: ['mode'],
    answers: { 200: shownMode },
    problems: SET,
    answer: async ({ registry, query, body }) =>
      shown(await registry.putMode(null, body.mode, { isForced: query.force })),
  }),
  registryRoute({
    method: 'DELETE',
    path: '/mode',
    needs: 'administer',
    verb: 'reset mode',
    doc: 'Takes the mode back to READWRITE, with recursive=true also that of every subject. The answer is the old mode.',
    query: z.object({ recursive: flag }),
    answers: { 200: shownMode },
    answer: async ({ registry, query }) => shown(await registry.deleteMode(null, { isRecursive: query.recursive })),
  }),
  registryRoute({
    method: 'GET',
    path: '/mode/:subject',
    needs: 'read',
    verb: 'show mode of a subject',
    doc: 'The mode that was set for a subject; with defaultToGlobal=true, the one that counts for it.',
    params: subjectParams,
    query: z.object({ defaultToGlobal: flag }),
    answers: { 200: shownMode },
    problems: { 404: 'MODE_NOT_CONFIGURED' },
    answer: async ({ registry, params, query }) =>
      shown(await registry.getMode(params.subject, { isDefaultedToGlobal: query.defaultToGlobal })),
  }),
  registryRoute({
    method: 'PUT',
    path: '/mode/:subject',
    needs: 'administer',
    verb: 'set mode of a subject',
    doc: 'Sets the mode of a subject, which need not exist. IMPORT needs a subject without versions, or force=true.',
    params: subjectParams,
    query: z.object({ force: flag }),
    body: sentMode,
    audited: ['mode'],
    answers: { 200: shownMode },
    problems: { 422: `${SET[422]}, INVALID_SUBJECT` },
    answer: async ({ registry, params, query, body }) =>
      shown(await registry.putMode(params.subject, body.mode, { isForced: query.force })),
  }),
  registryRoute({
    method: 'DELETE',
    path: '/mode/:subject',
    needs: 'administer',
    verb: 'reset mode of a subject',
    doc: 'Removes the mode of a subject, so that the global one counts. The answer is the old mode.',
    params: subjectParams,
    answers: { 200: shownMode },
    problems: { 404: 'SUBJECT_NOT_FOUND' },
    answer: async ({ registry, params }) => shown(await registry.deleteMode(params.subject)),
  }),
]

function shown<T extends object>(mode: string | T) {
  return typeof mode === 'string' ? reply(200, { mode }) : mode
}

// Levels and modes of the schema registry, of one subject or of all.

import { changeLevel, changeMode, showLevel, showMode } from '../../admin/schemas/settings.ts'
import {
  levelChangeShape,
  modeChangeShape,
  schemaSubjectParams,
  shownLevelShape,
  shownModeShape,
} from '../../api/schemas.ts'
import { isRefusal, type RegistryRefusal } from '../../registry/refusals.ts'
import { isProblem } from '../problems.ts'
import { type Answer, reply, route } from '../route.ts'
import { fromRegistry, REGISTRY_READS, withRegistry } from '../schema-problems.ts'

export const schemaSettingRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/schemas/level',
    needs: 'viewer',
    verb: 'show global schema level',
    tag: 'schemas',
    doc: 'The level of compatibility of all subjects without one of their own.',
    answers: { 200: shownLevelShape },
    problems: REGISTRY_READS,
    async answer(_request, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return reply(200, await showLevel(its.registry, null))
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/schemas/level',
    needs: 'admin',
    verb: 'set global schema level',
    tag: 'schemas',
    doc: 'Sets the level of compatibility of all subjects without one of their own.',
    body: levelChangeShape,
    audited: ['level'],
    answers: { 200: shownLevelShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer({ body }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeLevel(its.registry, null, body.level), null)
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/schemas/level',
    needs: 'admin',
    verb: 'reset global schema level',
    tag: 'schemas',
    doc: 'Removes the global level: the default is in force again.',
    answers: { 200: shownLevelShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer(_request, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeLevel(its.registry, null, null), null)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject/level',
    needs: 'viewer',
    verb: 'show schema level',
    tag: 'schemas',
    doc: 'The level of compatibility of a subject, and where it comes from. A subject may have one before it has versions.',
    params: schemaSubjectParams,
    answers: { 200: shownLevelShape },
    problems: REGISTRY_READS,
    async answer({ params: { subject } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return reply(200, await showLevel(its.registry, subject))
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/schemas/subjects/:subject/level',
    needs: 'admin',
    verb: 'set schema level',
    tag: 'schemas',
    doc: 'Sets the level of compatibility of a subject.',
    params: schemaSubjectParams,
    body: levelChangeShape,
    audited: ['level'],
    answers: { 200: shownLevelShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer({ params: { subject }, body }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeLevel(its.registry, subject, body.level), subject)
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/schemas/subjects/:subject/level',
    needs: 'admin',
    verb: 'reset schema level',
    tag: 'schemas',
    doc: 'Removes the level of the subject: the global one is in force again.',
    params: schemaSubjectParams,
    answers: { 200: shownLevelShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer({ params: { subject } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeLevel(its.registry, subject, null), subject)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/mode',
    needs: 'viewer',
    verb: 'show global schema mode',
    tag: 'schemas',
    doc: 'The mode of all subjects without one of their own.',
    answers: { 200: shownModeShape },
    problems: REGISTRY_READS,
    async answer(_request, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return reply(200, await showMode(its.registry, null))
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/schemas/mode',
    needs: 'admin',
    verb: 'set global schema mode',
    tag: 'schemas',
    doc: 'Sets the mode of all subjects without one of their own.',
    body: modeChangeShape,
    audited: ['mode', 'force'],
    answers: { 200: shownModeShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer({ body }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeMode(its.registry, null, body.mode, { isForced: body.force }), null)
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/schemas/mode',
    needs: 'admin',
    verb: 'reset global schema mode',
    tag: 'schemas',
    doc: 'Removes the global mode: the default is in force again.',
    answers: { 200: shownModeShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer(_request, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeMode(its.registry, null, null), null)
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/schemas/subjects/:subject/mode',
    needs: 'viewer',
    verb: 'show schema mode',
    tag: 'schemas',
    doc: 'The mode of a subject, and where it comes from. A subject may have one before it has versions.',
    params: schemaSubjectParams,
    answers: { 200: shownModeShape },
    problems: REGISTRY_READS,
    async answer({ params: { subject } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return reply(200, await showMode(its.registry, subject))
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/schemas/subjects/:subject/mode',
    needs: 'admin',
    verb: 'set schema mode',
    tag: 'schemas',
    doc: 'Sets the mode of a subject.',
    params: schemaSubjectParams,
    body: modeChangeShape,
    audited: ['mode', 'force'],
    answers: { 200: shownModeShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer({ params: { subject }, body }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeMode(its.registry, subject, body.mode, { isForced: body.force }), subject)
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/schemas/subjects/:subject/mode',
    needs: 'admin',
    verb: 'reset schema mode',
    tag: 'schemas',
    doc: 'Removes the mode of the subject: the global one is in force again.',
    params: schemaSubjectParams,
    answers: { 200: shownModeShape },
    problems: { 404: 'SCHEMA_REGISTRY_OFF', 409: 'CONFLICT, UNREADABLE' },
    async answer({ params: { subject } }, rooms) {
      const its = withRegistry(rooms)
      if (isProblem(its)) return its
      return answerOf(await changeMode(its.registry, subject, null), subject)
    },
  }),
]

function answerOf(changed: object | RegistryRefusal, subject: string | null): Answer {
  return isRefusal(changed) ? fromRegistry(changed, { subject }) : reply(200, changed)
}

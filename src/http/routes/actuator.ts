// The endpoints by which machines watch a broker, under the paths and shapes of Spring Boot's actuator: health and its
// probes, the build, the scrape, the levels of loggers. Health answers every client, and shows only statuses to a
// caller who did not sign in.

import { z } from 'zod'
import type { HealthTree } from '../../admin/health.ts'
import { findLogger, levelObjection, listLoggers, setLevels } from '../../admin/loggers.ts'
import { buildShape } from '../../api/capabilities.ts'
import { actuatorHealthShape } from '../../api/health.ts'
import {
  actuatorLoggerChangeShape,
  actuatorLoggerShape,
  actuatorLoggersShape,
  type LoggerState,
  loggerParams,
} from '../../api/loggers.ts'
import { LEVELS } from '../../api/words.ts'
import type { ACTUATOR_ENDPOINTS } from '../../settings/settings.ts'
import { type Problem, problem } from '../problems.ts'
import { type HttpRooms, reply, route } from '../route.ts'
import { shownTree } from '../shown-health.ts'

type Endpoint = (typeof ACTUATOR_ENDPOINTS)[number]

const EXPOSURE = 'management.endpoints.web.exposure.include'

/** Returns why an endpoint is not served, or null. */
function checkExposed({ settings }: HttpRooms, endpoint: Endpoint): Problem | null {
  const exposed = settings.get(EXPOSURE)
  if (exposed.includes(endpoint) || exposed.includes('*')) return null
  return problem('NOT_FOUND', `This endpoint is not served: ${EXPOSURE} does not name ${endpoint}.`)
}

function checkProbes(rooms: HttpRooms): Problem | null {
  const key = 'management.endpoint.health.probes.enabled'
  if (!rooms.settings.get(key)) return problem('NOT_FOUND', `The probes are not served: ${key} is false.`)
  return checkExposed(rooms, 'health')
}

function answerHealth(tree: HealthTree, isKnown: boolean, more: { groups?: readonly string[] } = {}) {
  return reply(tree.status === 'UP' ? 200 : 503, { ...shownTree(tree, isKnown), ...more })
}

const healthAnswers = { 200: actuatorHealthShape, 503: actuatorHealthShape }

function levelsOf({ level, configuredLevel }: LoggerState) {
  return { configuredLevel, effectiveLevel: level }
}

const noSuchLogger = (name: string) => problem('NOT_FOUND', `There is no logger ${name}.`)

export const actuatorRoutes = [
  route({
    method: 'GET',
    path: '/actuator/health',
    needs: 'anybody',
    isProbe: true,
    verb: 'show health',
    tag: 'actuator',
    doc: 'Whether the store answers, the broker serves, the disk has room and certificates are valid. 503 unless all is well.',
    problems: { 404: 'NOT_FOUND' },
    answers: healthAnswers,
    async answer({ identity }, rooms) {
      const closed = checkExposed(rooms, 'health')
      if (closed !== null) return closed
      const groups = checkProbes(rooms) === null ? { groups: ['liveness', 'readiness'] } : {}
      return answerHealth(await rooms.health.tree(), identity !== null, groups)
    },
  }),
  route({
    method: 'GET',
    path: '/actuator/health/liveness',
    needs: 'anybody',
    isProbe: true,
    verb: 'probe liveness',
    tag: 'actuator',
    doc: 'Whether the process lives. The state of the store does not count, because a restart would not repair it.',
    problems: { 404: 'NOT_FOUND' },
    answers: healthAnswers,
    answer({ identity }, rooms) {
      return checkProbes(rooms) ?? answerHealth(rooms.health.liveness(), identity !== null)
    },
  }),
  route({
    method: 'GET',
    path: '/actuator/health/readiness',
    needs: 'anybody',
    isProbe: true,
    verb: 'probe readiness',
    tag: 'actuator',
    doc: 'Whether clients should be sent here: the store answers, and the broker serves and does not drain. 503 otherwise.',
    problems: { 404: 'NOT_FOUND' },
    answers: healthAnswers,
    async answer({ identity }, rooms) {
      return checkProbes(rooms) ?? answerHealth(await rooms.health.readiness(), identity !== null)
    },
  }),
  route({
    method: 'GET',
    path: '/actuator/info',
    needs: 'basic-viewer',
    verb: 'show build',
    tag: 'actuator',
    doc: 'The build of this broker. The time is that of its commit; null if it is unknown.',
    problems: { 404: 'NOT_FOUND' },
    answers: {
      200: z.object({ build: buildShape }).meta({ id: 'ActuatorInfo' }),
    },
    async answer(_request, rooms) {
      return checkExposed(rooms, 'info') ?? reply(200, { build: await rooms.build() })
    },
  }),
  route({
    method: 'GET',
    path: '/actuator/prometheus',
    needs: 'scrape',
    verb: 'scrape metrics',
    tag: 'actuator',
    doc: 'Every metric: in the text format of Prometheus, or in OpenMetrics 1.0 if the Accept header prefers it.',
    problems: { 404: 'NOT_FOUND' },
    answers: { 200: z.string() },
    contentType: ['text/plain', 'application/openmetrics-text'],
    answer({ headers }, rooms) {
      const { accept } = headers
      const written = () => rooms.metrics.exposition(accept?.toString(), rooms.clock)
      return checkExposed(rooms, 'prometheus') ?? { kind: 'streaming', ...written() }
    },
  }),
  route({
    method: 'GET',
    path: '/actuator/loggers',
    needs: 'basic-viewer',
    verb: 'show loggers',
    tag: 'actuator',
    doc: 'Every logger with its effective level and the level that was set for it.',
    problems: { 404: 'NOT_FOUND' },
    answers: { 200: actuatorLoggersShape },
    answer(_request, rooms) {
      const loggers = () => Object.fromEntries(listLoggers(rooms.logger).map(each => [each.name, levelsOf(each)]))
      return checkExposed(rooms, 'loggers') ?? reply(200, { levels: LEVELS, loggers: loggers() })
    },
  }),
  route({
    method: 'GET',
    path: '/actuator/loggers/:logger',
    needs: 'basic-viewer',
    verb: 'show logger',
    tag: 'actuator',
    doc: 'The level of one logger.',
    params: loggerParams,
    answers: { 200: actuatorLoggerShape },
    answer({ params }, rooms) {
      const closed = checkExposed(rooms, 'loggers')
      if (closed !== null) return closed
      const found = findLogger(rooms.logger, params.logger)
      return found === null ? noSuchLogger(params.logger) : reply(200, levelsOf(found))
    },
  }),
  route({
    method: 'POST',
    path: '/actuator/loggers/:logger',
    needs: 'basic-admin',
    verb: 'set logger level',
    tag: 'actuator',
    doc: 'Sets the level of a logger that exists and of those below it, until this broker ends; null takes it back.',
    params: loggerParams,
    body: actuatorLoggerChangeShape,
    audited: ['configuredLevel'],
    answers: { 204: null },
    answer({ params, body }, rooms) {
      const closed = checkExposed(rooms, 'loggers')
      if (closed !== null) return closed
      const found = findLogger(rooms.logger, params.logger)
      if (found === null) return noSuchLogger(params.logger)
      const edit = { name: found.name, level: body.configuredLevel }
      const objection = levelObjection(rooms.logger, edit.name, edit.level)
      if (objection !== null) return objection
      setLevels(rooms.logger, [edit])
      return reply(204)
    },
  }),
]

// The levels of this broker's loggers, for the console. The actuator has the same under Spring's shapes.

import { findLogger, levelObjection, listLoggers, setLevels } from '../../admin/loggers.ts'
import { loggerChangeShape, loggerListShape, loggerParams, loggerShape } from '../../api/loggers.ts'
import { problem } from '../problems.ts'
import { reply, route } from '../route.ts'

export const loggerRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/loggers',
    needs: 'viewer',
    verb: 'list loggers',
    tag: 'loggers',
    doc: 'Every logger of this broker, by name, with its level.',
    answers: { 200: loggerListShape },
    answer(_request, { logger }) {
      return reply(200, { loggers: listLoggers(logger) })
    },
  }),
  route({
    method: 'PUT',
    path: '/api/v1/loggers/:logger',
    needs: 'admin',
    verb: 'change logger level',
    tag: 'loggers',
    doc: 'Sets the level of a logger that exists and of those below it, until this broker ends; null takes it back.',
    params: loggerParams,
    body: loggerChangeShape,
    audited: ['level'],
    answers: { 200: loggerShape },
    answer({ params, body }, { logger }) {
      const found = findLogger(logger, params.logger)
      if (found === null) return problem('NOT_FOUND', `There is no logger ${params.logger}.`)
      const edit = { name: found.name, level: body.level }
      const objection = levelObjection(logger, edit.name, edit.level)
      if (objection !== null) return objection
      setLevels(logger, [edit])
      return reply(200, findLogger(logger, edit.name))
    },
  }),
]

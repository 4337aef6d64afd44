// The levels of the loggers of one broker on the command line. A level lasts until the broker ends.

import type { LoggerChange, LoggerList, LoggerState } from '../../api/loggers.ts'
import { LEVELS } from '../../api/words.ts'
import { type Command, segment } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { table } from '../table.ts'

const INHERIT = 'inherit'

export const loggerCommands: readonly Command[] = [
  {
    name: 'loggers list',
    doc: 'Lists the loggers of the broker with their levels.',
    args: [],
    options: {},
    async run(call) {
      const answer = await call.api.get<LoggerList>('/api/v1/loggers')
      call.show(answer, () =>
        table(
          ['LOGGER', 'LEVEL', 'SET TO'],
          answer.loggers.map(each => [each.name, each.level, each.configuredLevel ?? '']),
        ),
      )
      return EXIT.OK
    },
  },
  {
    name: 'loggers set',
    doc: `Sets the level of a logger and of those below it, until the broker ends: ${LEVELS.join(', ')}, or ${INHERIT} to take it back.`,
    args: [{ name: 'logger' }, { name: 'level' }],
    options: {},
    async run(call) {
      const [name, given] = call.args
      const level = LEVELS.find(each => each === given!.toUpperCase()) ?? null
      if (level === null && given!.toLowerCase() !== INHERIT) {
        const takes = [...LEVELS, INHERIT].join(', ')
        throw new CommandFailed(EXIT.USAGE, `the level: got ${JSON.stringify(given)}, takes ${takes}`)
      }
      const change: LoggerChange = { level }
      const logger = await call.api.put<LoggerState>(`/api/v1/loggers/${segment(name!)}`, change)
      call.show(logger, () => `${logger.name} writes ${logger.level}.\n`)
      return EXIT.OK
    },
  },
]

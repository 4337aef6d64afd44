// The levels of the loggers of one broker on the command line. They last until it ends.

import { type Command, segment } from '../command.ts'
import { CommandFailed, EXIT } from '../exit-status.ts'
import { table } from '../table.ts'

interface Logger {
  readonly name: string
  readonly level: string
  readonly configuredLevel: string | null
}

const LEVELS = ['OFF', 'ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'] as const
const INHERIT = 'inherit'

export const loggerCommands: readonly Command[] = [
  {
    name: 'loggers list',
    doc: 'The loggers of the broker that is asked, with what each writes.',
    args: [],
    options: {},
    async run(call) {
      const answer = await call.api.get<{ loggers: readonly Logger[] }>('/api/v1/loggers')
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
      const logger = await call.api.put<Logger>(`/api/v1/loggers/${segment(name!)}`, { level })
      call.show(logger, () => `${logger.name} writes ${logger.level}.\n`)
      return EXIT.OK
    },
  },
]

// The API schemas of the levels of one broker's loggers. The actuator returns the same data in Spring's shapes.

import { z } from 'zod'
import { LEVELS } from './words.ts'

export const levelShape = z.enum(LEVELS)

/**
 * The code gives loggers their names. A text that cannot be such a name is refused before the broker looks it up or
 * logs it.
 */
const loggerName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9_.$-]+$/, 'takes letters, digits and . _ $ -')

export const loggerParams = z.object({ logger: loggerName })

export const loggerShape = z
  .object({
    name: z.string(),
    level: levelShape.meta({ description: 'The level in force.' }),
    configuredLevel: levelShape
      .nullable()
      .meta({ description: 'The level that was set for this logger itself; null if it inherits its level.' }),
  })
  .meta({ id: 'Logger' })

export type LoggerState = z.infer<typeof loggerShape>

export const loggerListShape = z.object({ loggers: z.array(loggerShape) })
export type LoggerList = z.infer<typeof loggerListShape>

export const loggerChangeShape = z.object({ level: levelShape.nullable() })
export type LoggerChange = z.input<typeof loggerChangeShape>

export const actuatorLoggerShape = z
  .object({ configuredLevel: levelShape.nullable(), effectiveLevel: levelShape })
  .meta({ id: 'ActuatorLogger' })

export const actuatorLoggersShape = z
  .object({ levels: z.array(levelShape), loggers: z.record(z.string(), actuatorLoggerShape) })
  .meta({ id: 'ActuatorLoggers' })

export const actuatorLoggerChangeShape = z.object({ configuredLevel: levelShape.nullable() })

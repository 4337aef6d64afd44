// The levels of loggers while the broker runs: which there are, and what they are set to. A level lasts as long as the process,
// and is this broker's alone. Only loggers that exist can be set, so that nobody fills the memory with names.

import { cut } from '../base/cut.ts'
import { because, INVALID_CONFIG, INVALID_REQUEST, type Refusal } from '../protocol/errors.ts'
import type { Level, Logger } from '../telemetry/logger.ts'

const ROOT = 'root'

/** Its lines tell what was changed, levels included, so its own is that of the settings. */
export const AUDIT_LOGGER = 'svc.audit'

/** Kafka's words for levels. FATAL, above which nothing is ever written, is our OFF. */
const LEVELS: ReadonlyMap<string, Level> = new Map([
  ['DEBUG', 'DEBUG'],
  ['ERROR', 'ERROR'],
  ['FATAL', 'OFF'],
  ['INFO', 'INFO'],
  ['OFF', 'OFF'],
  ['TRACE', 'TRACE'],
  ['WARN', 'WARN'],
])

export interface LoggerState {
  readonly name: string
  /** What holds. */
  readonly level: Level
  /** What was set for this very logger; null where the level comes from above. */
  readonly configuredLevel: Level | null
}

/** Every logger that exists, by name. */
export function listLoggers(logger: Logger): readonly LoggerState[] {
  return [...logger.levels()]
    .map(([name, { level, configured }]) => ({ name, level, configuredLevel: configured }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** The logger of that very name, or null. Spring's name for the root is understood. */
export function findLogger(logger: Logger, name: string): LoggerState | null {
  const asked = name === 'ROOT' ? ROOT : name
  return listLoggers(logger).find(each => each.name === asked) ?? null
}

/** Why the level of this logger cannot be set to that, or, with null, not be taken back; null when it can. In Kafka's words. */
export function levelObjection(logger: Logger, name: string, level: string | null): Refusal | null {
  if (!logger.levels().has(name)) return because(INVALID_CONFIG, `Logger ${cut(name)} does not exist!`)
  if (name === AUDIT_LOGGER)
    return because(INVALID_REQUEST, `The level of ${AUDIT_LOGGER} is set at the start and not while the broker runs`)
  if (level === null && name === ROOT)
    return because(INVALID_REQUEST, 'Removing the log level of the root logger is not allowed')
  if (level !== null && !LEVELS.has(level)) {
    return because(
      INVALID_CONFIG,
      `Cannot set the log level of ${name} to ${cut(level)} as it is not a supported log level. Valid log levels are ${[...LEVELS.keys()].join(', ')}`,
    )
  }
  return null
}

/** Sets what levelObjection has nothing against, from the next line on; null takes the setting back. */
export function setLevels(logger: Logger, edits: readonly { readonly name: string; readonly level: string | null }[]) {
  for (const { name, level } of edits) logger.setLevel(name, level === null ? null : LEVELS.get(level)!)
}

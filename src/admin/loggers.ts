// Lists and changes the levels of loggers while the broker runs. A level lasts until the process ends and applies to
// this broker only. Only existing loggers can be changed, so that no client can fill the memory with names.

import type { LoggerState } from '../api/loggers.ts'
import { cut } from '../base/cut.ts'
import { because, INVALID_CONFIG, INVALID_REQUEST, type Refusal } from '../protocol/errors.ts'
import type { Level, Logger } from '../telemetry/logger.ts'

const ROOT = 'root'

/**
 * The audit logger. It logs every change, also changes of levels. Therefore its own level comes only from the
 * settings.
 */
const AUDIT_LOGGER = 'svc.audit'

/**
 * Returns the audit logger. Its level is that of the settings and does not change while the broker runs: a user who
 * may change levels must not be able to hide changes.
 */
export function openAuditLog(logger: Logger): Logger {
  const own = logger.named('audit')
  logger.setLevel(AUDIT_LOGGER, logger.levels().get(AUDIT_LOGGER)!.level)
  return own
}

/** Kafka's names of levels. FATAL is OFF here, because Ketch writes no FATAL lines. */
const LEVELS: ReadonlyMap<string, Level> = new Map([
  ['DEBUG', 'DEBUG'],
  ['ERROR', 'ERROR'],
  ['FATAL', 'OFF'],
  ['INFO', 'INFO'],
  ['OFF', 'OFF'],
  ['TRACE', 'TRACE'],
  ['WARN', 'WARN'],
])

/** Returns all loggers, sorted by name. */
export function listLoggers(logger: Logger): readonly LoggerState[] {
  return [...logger.levels()]
    .map(([name, { level, configured }]) => ({ name, level, configuredLevel: configured }))
    .sort((one, other) => (one.name < other.name ? -1 : 1))
}

/** Returns the logger with exactly this name, or null. It also accepts Spring's name of the root logger, ROOT. */
export function findLogger(logger: Logger, name: string): LoggerState | null {
  const asked = name === 'ROOT' ? ROOT : name
  return listLoggers(logger).find(each => each.name === asked) ?? null
}

/**
 * Returns why the level of this logger cannot be set to `level`, in Kafka's words; null if it can. If `level` is
 * null, the level is reset.
 */
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

/**
 * Sets the levels of loggers; null resets a level. The levels apply from the next log line on. The caller must have
 * checked every edit with levelObjection.
 */
export function setLevels(logger: Logger, edits: readonly { readonly name: string; readonly level: string | null }[]) {
  for (const { name, level } of edits) logger.setLevel(name, level === null ? null : LEVELS.get(level)!)
}

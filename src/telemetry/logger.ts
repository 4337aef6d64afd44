// Writes log lines for people (a partition's log is something else), as plain text or as Logstash JSON, one line for
// each call. Levels are set by logger name and can change while the broker runs. The logger never throws and never
// waits. It escapes control characters, so a value that a client sends cannot end its field or its line. It does not
// rotate, ship or keep anything.
//
//   2026-11-21T01:02:03.004Z INFO  svc.kafka.connection  connection closed address=10.0.0.7:51234 reason="idle for 10m"

import type { Clock } from '../base/clock.ts'
import { printable } from '../base/printable.ts'

export type Level = 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR' | 'OFF'

/** The numbers that Logstash's encoder gives the levels. */
const RANK: Readonly<Record<Level, number>> = Object.freeze({
  TRACE: 5000,
  DEBUG: 10_000,
  INFO: 20_000,
  WARN: 30_000,
  ERROR: 40_000,
  OFF: Number.POSITIVE_INFINITY,
})

/** The values of a line. An Error is written with its causes, and at level ERROR also with its stack. */
export type Fields = Readonly<Record<string, unknown>>

/** The fields of every line that is written on behalf of one Kafka request. */
export interface RequestScope {
  readonly correlationId: number
  readonly clientId: string | null
  /** The name of the API. */
  readonly apiKey: string
  readonly apiVersion: number
}

/** A request on whose behalf lines are written. */
export interface Scoped {
  scope(): RequestScope
}

export interface Logger {
  /** `svc.` and the name that `named` got. */
  readonly name: string
  /** Returns whether a line of this level would be written. Ask before you compute expensive fields. */
  isEnabled(level: Level): boolean
  trace(message: string, fields?: Fields): void
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  /**
   * Returns the logger with another name: `named('kafka.connection')` is `svc.kafka.connection`. The name of this
   * logger does not matter.
   */
  named(name: string): Logger
  /** Returns the same logger with these fields in every line. */
  within(scope: RequestScope | Fields): Logger
  /**
   * Runs the work for a request. Until the work returns, every line of this broker's loggers carries the scope of the
   * request. The scope is made only if a line is written. Lines after an await do not carry it, so the work keeps
   * `current` and calls `during` with it again. With null the lines belong to no request.
   */
  during<T>(request: Scoped | null, work: () => T): T
  /** The request that the broker works for at this moment; null if it works for none. */
  readonly current: Scoped | null
  /**
   * Returns the same logger, but silent for everyMs after each line. All loggers with this key share the silence. The
   * next line has the number of lines that were left out in its field `suppressed`. Use few, fixed keys.
   */
  limited(key: string, everyMs: number): Logger
  /**
   * Sets the level of a logger and those below it from now on. null removes the setting. The name `root` sets all
   * loggers.
   */
  setLevel(name: string, level: Level | null): void
  /**
   * Returns every logger that was made, the loggers above it and `root`, by full name. Loggers that only have a level
   * are included.
   */
  levels(): ReadonlyMap<string, LoggerLevel>
}

export interface LoggerLevel {
  /** The level in force. */
  readonly level: Level
  /** The level that was set for this very logger; null if the level comes from above. */
  readonly configured: Level | null
}

/** The name that stands for all loggers. */
const ROOT = 'root'

export interface LoggerOptions {
  readonly clock: Clock
  /** Takes one whole line, its newline included. */
  readonly write: (line: string) => void
  readonly format: 'plain' | 'logstash'
  /** By full logger name (`svc.kafka`) or `root`; root is INFO when absent. */
  readonly levels?: ReadonlyMap<string, Level>
}

/** Writes the lines of a broker that runs as a process of its own. */
export function writeToStandardOutput(line: string): void {
  process.stdout.write(line)
}

interface Limit {
  silentUntilMs: number
  suppressed: number
}

interface Shared {
  readonly options: LoggerOptions
  /** By folded name. */
  readonly levels: Map<string, Level>
  /** Full names of loggers, by folded name. The code names loggers and clients do not, so the map stays small. */
  readonly names: Map<string, string>
  readonly limits: Map<string, Limit>
  /** The request that the broker works for at this moment. */
  request: Scoped | null
  /** Rises when a level changes, so that loggers look up their level again. */
  version: number
}

/** Creates the root of one broker's loggers. */
export function createLogger(options: LoggerOptions): Logger {
  const shared: Shared = { options, levels: new Map(), names: new Map(), limits: new Map(), request: null, version: 0 }
  register(shared, ROOT)
  register(shared, 'svc')
  for (const [name, level] of options.levels ?? []) {
    shared.levels.set(folded(name), level)
    register(shared, name)
  }
  return makeLogger(shared, 'svc', {}, null)
}

function makeLogger(
  shared: Shared,
  name: string,
  scope: Fields,
  limit: { key: string; everyMs: number } | null,
): Logger {
  const { options, levels } = shared
  let threshold = 0
  let seenVersion = -1

  function isEnabled(level: Level): boolean {
    if (seenVersion !== shared.version) {
      threshold = RANK[levelOf(levels, name)]
      seenVersion = shared.version
    }
    return RANK[level] >= threshold
  }

  function log(level: Level, message: string, fields: Fields | undefined): void {
    if (!isEnabled(level)) return
    let suppressed = 0
    if (limit !== null) {
      const entry = pass(shared.limits, limit, options.clock.monotonic())
      if (entry === null) return
      suppressed = entry
    }
    const all = { ...shared.request?.scope(), ...scope, ...fields, ...(suppressed > 0 && { suppressed }) }
    const line = { time: new Date(options.clock.now()).toISOString(), level, name, message, fields: all }
    options.write(options.format === 'logstash' ? writeJson(line) : writePlain(line))
  }

  return {
    name,
    isEnabled,
    get current() {
      return shared.request
    },
    trace: (message, fields) => log('TRACE', message, fields),
    debug: (message, fields) => log('DEBUG', message, fields),
    info: (message, fields) => log('INFO', message, fields),
    warn: (message, fields) => log('WARN', message, fields),
    error: (message, fields) => log('ERROR', message, fields),
    named(other) {
      register(shared, `svc.${other}`)
      return makeLogger(shared, `svc.${other}`, scope, limit)
    },
    within: more => makeLogger(shared, name, { ...scope, ...more }, limit),
    during(request, work) {
      const before = shared.request
      shared.request = request
      try {
        return work()
      } finally {
        shared.request = before
      }
    },
    limited: (key, everyMs) => makeLogger(shared, name, scope, { key, everyMs }),
    setLevel(target, level) {
      if (level === null) levels.delete(folded(target))
      else levels.set(folded(target), level)
      register(shared, target)
      shared.version++
    },
    levels: () =>
      new Map(
        [...shared.names].map(([key, full]) => [
          full,
          { level: levelOf(levels, full), configured: levels.get(key) ?? null },
        ]),
      ),
  }
}

/** Returns how many lines were left out before this one; null if this one must be left out too. */
function pass(limits: Map<string, Limit>, limit: { key: string; everyMs: number }, nowMs: number): number | null {
  const known = limits.get(limit.key)
  if (known !== undefined && nowMs < known.silentUntilMs) {
    known.suppressed++
    return null
  }
  limits.set(limit.key, { silentUntilMs: nowMs + limit.everyMs, suppressed: 0 })
  return known?.suppressed ?? 0
}

/** Returns the name in the form in which levels are compared. Environment variables keep neither case nor dashes. */
function folded(name: string): string {
  return name.toLowerCase().replaceAll('-', '.')
}

/** Registers this logger and the loggers above it. */
function register({ names }: Shared, name: string): void {
  for (let at = name.length; at > 0; at = name.lastIndexOf('.', at - 1)) {
    const prefix = name.slice(0, at)
    const key = folded(prefix)
    // A name from the environment is always folded. The code knows the original name.
    if (!names.has(key) || names.get(key) === key) names.set(key, prefix)
  }
}

/** Returns the level of the longest configured prefix of the name that ends at a dot. */
function levelOf(levels: ReadonlyMap<string, Level>, name: string): Level {
  for (let prefix = folded(name); prefix !== ''; prefix = prefix.slice(0, Math.max(0, prefix.lastIndexOf('.')))) {
    const level = levels.get(prefix)
    if (level !== undefined) return level
  }
  return levels.get(ROOT) ?? 'INFO'
}

interface Line {
  readonly time: string
  readonly level: Level
  readonly name: string
  readonly message: string
  readonly fields: Fields
}

const LONGEST_VALUE = 4096

/**
 * Matches control and format characters (also those that change the direction of text), line and paragraph separators
 * and lone surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const ASCII = /^[\x20-\x7e]*$/

function escapeText(text: string): string {
  return printable(cut(text))
}

/** Returns any value as text. For a value that cannot be read it returns a text that says so, instead of throwing. */
function say(value: unknown): string {
  try {
    if (typeof value === 'string') return value
    if (value instanceof Error) return sayError(value)
    if (typeof value === 'object' && value !== null) return JSON.stringify(value) ?? String(value)
    return String(value)
  } catch {
    return '(unreadable value)'
  }
}

const DEEPEST_CAUSE = 5

function sayError(error: Error): string {
  const said: string[] = []
  for (let current: unknown = error; current instanceof Error && said.length < DEEPEST_CAUSE; current = current.cause) {
    said.push(`${current.name}: ${current.message}`)
  }
  return said.join(', caused by ')
}

/** Returns only the frames of the stack. The message is a field already, and it may contain text from a client. */
function framesOf(fields: Fields): readonly string[] {
  const error = Object.values(fields).find(value => value instanceof Error)
  if (!(error instanceof Error) || typeof error.stack !== 'string') return []
  const stack = error.stack.slice(error.stack.indexOf(error.message) + error.message.length)
  return stack.split('\n').filter(frame => /^ {4}at /.test(frame))
}

function writePlain({ time, level, name, message, fields }: Line): string {
  let text = `${time} ${level.padEnd(5)} ${name}  ${escapeText(message)}`
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue
    const said = escapeText(say(value))
    text += ` ${escapeText(key)}=${/^[^\s="]+$/.test(said) ? said : `"${said.replaceAll('"', '\\"')}"`}`
  }
  if (level === 'ERROR') for (const frame of framesOf(fields)) text += `\n${escapeText(frame)}`
  return `${text}\n`
}

const LOGSTASH_KEYS: ReadonlySet<string> = new Set([
  '@timestamp',
  '@version',
  'message',
  'logger_name',
  'thread_name',
  'level',
  'level_value',
  'stack_trace',
  '__proto__',
])

function writeJson({ time, level, name, message, fields }: Line): string {
  const line: Record<string, unknown> = {
    '@timestamp': time,
    '@version': '1',
    message: cut(message),
    logger_name: name,
    thread_name: 'main',
    level,
    level_value: RANK[level],
  }
  for (const [key, value] of Object.entries(fields)) {
    const plain = typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined
    line[LOGSTASH_KEYS.has(key) ? `${key}_` : key] = plain ? value : cut(say(value))
  }
  const frames = level === 'ERROR' ? framesOf(fields) : []
  if (frames.length > 0) line.stack_trace = frames.join('\n')
  // JSON does not escape these characters, and some readers of logs cannot handle them.
  const json = JSON.stringify(line)
  if (ASCII.test(json)) return `${json}\n`
  const text = json.replace(UNPRINTABLE, found => {
    const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at).toString(16).padStart(4, '0'))
    return units.map(unit => `\\u${unit}`).join('')
  })
  return `${text}\n`
}

function cut(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text
}

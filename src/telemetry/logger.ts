// Lines for people (a partition's log is something else). Plain text or Logstash JSON, one line for each call; levels
// by logger name, changeable while the broker runs. It never throws and never waits, and nothing a client sends can
// break out of its value: control characters are escaped. It does not rotate, ship or keep anything.
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

/** Values of a line. An Error is written with its causes; at level ERROR its stack goes with it. */
export type Fields = Readonly<Record<string, unknown>>

/** The fields of every line that is written on behalf of one Kafka request. */
export interface RequestScope {
  readonly correlationId: number
  readonly clientId: string | null
  /** The name of the API. */
  readonly apiKey: string
  readonly apiVersion: number
}

/** A request that lines can be written on behalf of. */
export interface Scoped {
  scope(): RequestScope
}

export interface Logger {
  /** `svc.` and the name it was made with. */
  readonly name: string
  /** For lines whose fields cost something: whether a line of this level would be written. */
  isEnabled(level: Level): boolean
  trace(message: string, fields?: Fields): void
  debug(message: string, fields?: Fields): void
  info(message: string, fields?: Fields): void
  warn(message: string, fields?: Fields): void
  error(message: string, fields?: Fields): void
  /** The logger of another name: `named('kafka.connection')` is `svc.kafka.connection`, whatever this one is called. */
  named(name: string): Logger
  /** The same logger, with these fields in every line. */
  within(scope: RequestScope | Fields): Logger
  /**
   * Runs the work. Every line that a logger of this broker writes before the work gives way carries the scope of this
   * request, which is made only if a line is written. Lines behind an await do not carry it: the work keeps `current`
   * and enters it again. Null: the lines belong to no request.
   */
  during<T>(request: Scoped | null, work: () => T): T
  /** The request that the broker works for at this moment; null if it works for none. */
  readonly current: Scoped | null
  /**
   * The same logger, silent for everyMs after each line. Silence is shared by all loggers that name this key; the next
   * line says how many were left out in the field `suppressed`. Use few, fixed keys.
   */
  limited(key: string, everyMs: number): Logger
  /** Sets the level of a logger and those below it from now on; null takes the setting back. `root` is all of them. */
  setLevel(name: string, level: Level | null): void
  /** Every logger that was made, those above it, and `root`, by full name, with those that only have a level. */
  levels(): ReadonlyMap<string, LoggerLevel>
}

export interface LoggerLevel {
  /** The level in force. */
  readonly level: Level
  /** The level that was set for this very logger; null where the level comes from above. */
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

/** The sink of a broker that runs by itself. */
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
  /** Full names of loggers, by folded name. Code names loggers, clients do not: this has an end. */
  readonly names: Map<string, string>
  readonly limits: Map<string, Limit>
  /** The request that is being worked for at this moment. */
  request: Scoped | null
  /** Rises when a level changes, so that loggers look theirs up again. */
  version: number
}

/** The root of one broker's loggers. */
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

/** How many lines were left out before this one, or null when this one is to be left out too. */
function pass(limits: Map<string, Limit>, limit: { key: string; everyMs: number }, nowMs: number): number | null {
  const known = limits.get(limit.key)
  if (known !== undefined && nowMs < known.silentUntilMs) {
    known.suppressed++
    return null
  }
  limits.set(limit.key, { silentUntilMs: nowMs + limit.everyMs, suppressed: 0 })
  return known?.suppressed ?? 0
}

/** Names as levels compare them: the environment can write neither case nor dashes. */
function folded(name: string): string {
  return name.toLowerCase().replaceAll('-', '.')
}

/** Takes note that there is this logger, and those above it. */
function register({ names }: Shared, name: string): void {
  for (let at = name.length; at > 0; at = name.lastIndexOf('.', at - 1)) {
    const prefix = name.slice(0, at)
    const key = folded(prefix)
    // The environment can write a name only folded; code knows it as it is.
    if (!names.has(key) || names.get(key) === key) names.set(key, prefix)
  }
}

/** The level of the longest configured prefix of the name that ends at a dot. */
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
 * Controls, format characters (among them those that turn the direction of text) and line separators; not the space.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu
const ASCII = /^[\x20-\x7e]*$/

function escapeText(text: string): string {
  return printable(cut(text))
}

/** The value as text, whatever it is; a value that cannot be read says so instead of throwing. */
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

/** Frames only: the message is a field already, and a client may have had a hand in it. */
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
  // JSON leaves these as they are, and some readers of lines do not.
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

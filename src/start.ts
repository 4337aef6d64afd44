// `ketch start`: makes settings from the arguments, the environment and the file, starts a broker with them, and
// drains it at a signal. The parts of a broker are in broker.ts. Exit status: 0 after a drain, 1 for an error that
// the operator can correct, 70 for a defect of Ketch, 130 or 143 after a second signal.

import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { systemClock } from './base/clock.ts'
import { type Broker, startBroker } from './broker.ts'
import { helpText, settingsHelp } from './cli/help.ts'
import { BrokerIdHeld } from './cluster/membership.ts'
import { ListenFailed } from './settings/listen-failed.ts'
import { loadSettings } from './settings/load.ts'
import { readPlainFile } from './settings/plain-file.ts'
import { type Settings, SettingsError } from './settings/settings.ts'
import { readCommandLine } from './settings/sources.ts'
import { StoreOpenError } from './store/open-error.ts'
import { OutcomeUnknown, StoreUnavailable } from './store/store.ts'

const OPERATOR_ERROR = 1
const SOFTWARE_ERROR = 70

/** The time in ms to close the rooms after the drain timeout. After that the process gives up. */
const CLOSE_MS = 900

/**
 * A signal to a process group (from systemd or a terminal) arrives twice: directly, and through the launcher. A
 * second signal within this time in ms counts as the same signal.
 */
const SAME_SIGNAL_MS = 500

/**
 * The file mode mask: only the user of this process can read its files, also those that Node writes, such as a crash
 * report or a heap snapshot.
 */
const UMASK = 0o077

/** Prints in one message why no broker runs, and ends the process. */
function fail(message: string, status = OPERATOR_ERROR): never {
  process.stderr.write(`ketch: ${message}\n`)
  process.exit(status)
}

function versionText(): string {
  const file = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
  return `ketch ${(JSON.parse(file) as { version: string }).version}\n`
}

/** The arguments, environment and folder that the process was started with. */
export interface Beginning {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/**
 * Returns the text for `--help`, `--help settings` or `--help settings redis`. Throws SettingsError for another
 * topic, and for a word that no setting contains.
 */
function help([topic, word]: readonly string[]): string {
  if (topic === undefined) return helpText()
  if (topic !== 'settings') throw new SettingsError(`--help: got ${JSON.stringify(topic)}, takes settings or a command`)
  const text = settingsHelp(word ?? null)
  if (text === null) throw new SettingsError(`--help settings: no setting contains ${JSON.stringify(word)}`)
  return text
}

/** Returns the settings. If the arguments ask for the help or the version, prints that and returns null. */
function readSettings({ argv, env, cwd }: Beginning): Settings | null {
  const { wants, helpWords } = readCommandLine(argv)
  if (wants !== 'run') {
    process.stdout.write(wants === 'help' ? help(helpWords) : versionText())
    return null
  }
  return loadSettings({ argv, env, cwd, readFile: readPlainFile })
}

/**
 * Drains the broker at the first signal, even while it is still starting, and ends the process at the second. Also
 * drains it if its launcher was killed, because the user of the launcher thinks that the broker has ended.
 */
function closeOnSignals(starting: Promise<Broker>, drainTimeoutMs: number): void {
  let closingSinceMs: number | null = null
  const stop = async (reason: string) => {
    closingSinceMs = systemClock.monotonic()
    const broker = await starting
    broker.logger.named('main').info(`${reason}: closing; a second signal ends the process at once`)
    systemClock.timer(drainTimeoutMs + CLOSE_MS, () => fail('the broker did not close in time', SOFTWARE_ERROR))
    await broker.close()
    process.exit(0)
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (closingSinceMs === null) void stop(signal).catch(die)
    else if (systemClock.monotonic() - closingSinceMs >= SAME_SIGNAL_MS) process.exit(signal === 'SIGINT' ? 130 : 143)
  }
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  process.on('disconnect', () => {
    if (closingSinceMs === null) void stop('the process that started this one is gone').catch(die)
  })
  process.channel?.unref()
}

const OPERATORS = [SettingsError, ListenFailed, StoreOpenError, StoreUnavailable, OutcomeUnknown, BrokerIdHeld]

/** Returns whether the message tells the operator everything, so that no stack is needed. */
function isTheOperators(error: unknown): error is Error {
  return OPERATORS.some(each => error instanceof each)
}

/** Prints what went wrong and ends the process. Prints the stack if the error is a defect of the broker. */
function die(error: unknown): never {
  if (isTheOperators(error)) {
    fail(error.message)
  }
  fail(error instanceof Error ? (error.stack ?? error.message) : String(error), SOFTWARE_ERROR)
}

/**
 * Makes V8 collect the heap less often. Every frame is memory outside of V8's heap. By default V8 collects the whole
 * heap each time 64 MB of such memory were allocated and released. At full load that is ten times a second, and it
 * frees almost nothing. With this flag V8 counts such memory like its own heap. That takes a third less CPU time for
 * each byte produced, and some hundred MB more memory at full load (docs/decisions/0011).
 */
function collectLessOften(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/**
 * Lets the broker continue, with one message, if its log cannot be written: the reader of the log ended, or the disk
 * is full.
 */
function outliveOutput(): void {
  let isSaid = false
  process.stdout.on('error', ({ message }) => {
    if (isSaid) return
    isSaid = true
    process.stderr.write(`ketch: the log cannot be written to the standard output: ${message}\n`)
  })
  // No stream is left to report this error.
  process.stderr.on('error', () => {})
}

/**
 * Runs a broker until it ends, and ends the process with it. Returns only if the arguments ask for the help or the
 * version.
 */
export async function start(beginning: Beginning): Promise<void> {
  await run(beginning).catch(die)
}

async function run(beginning: Beginning): Promise<void> {
  const settings = readSettings(beginning)
  if (settings === null) return
  process.umask(UMASK)
  outliveOutput()
  collectLessOften()
  const starting = startBroker({ settings })
  closeOnSignals(starting, settings.get('broker.drain-timeout'))
  const broker = await starting
  const logger = broker.logger.named('main')
  const dieOf = (error: unknown) => {
    logger.error('the broker ends because of a defect in it', { error })
    process.exit(SOFTWARE_ERROR)
  }
  process.on('uncaughtException', dieOf)
  process.on('unhandledRejection', dieOf)
  logger.error('the broker cannot go on and ends', { error: await broker.failed })
  process.exit(OPERATOR_ERROR)
}

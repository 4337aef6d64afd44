// `ketch start`: arguments, environment and file become settings, settings a broker, a signal its end. The parts of
// a broker are in broker.ts. Exit status: 0 after a drain, 1 for an error that the operator can put right, 70 for a
// mistake of ours.

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

/** The most time for closing the rooms after the drain timeout is over. */
const CLOSE_MS = 900

/**
 * A signal to a group of processes (systemd, a terminal) comes here twice: by itself, and passed on by the launcher.
 */
const SAME_SIGNAL_MS = 500

/**
 * Files of this process are for its own user alone, also those that are made without a mode: a crash report, a heap
 * snapshot.
 */
const UMASK = 0o077

/** Says why there is no broker, in one message, and ends the process. */
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

/** `--help`, `--help settings`, `--help settings redis`. Throws SettingsError for a word that no setting contains. */
function help([topic, word]: readonly string[]): string {
  if (topic === undefined) return helpText()
  if (topic !== 'settings') throw new SettingsError(`--help: got ${JSON.stringify(topic)}, takes settings or a command`)
  const text = settingsHelp(word ?? null)
  if (text === null) throw new SettingsError(`--help settings: no setting contains ${JSON.stringify(word)}`)
  return text
}

/** Null if the arguments asked for something else, which this function prints. */
function readSettings({ argv, env, cwd }: Beginning): Settings | null {
  const { wants, helpWords } = readCommandLine(argv)
  if (wants !== 'run') {
    process.stdout.write(wants === 'help' ? help(helpWords) : versionText())
    return null
  }
  return loadSettings({ argv, env, cwd, readFile: readPlainFile })
}

/**
 * Drains at the first signal, also while the broker is starting, and gives up at the second. Drains too when its
 * launcher was killed, because the launcher's user thinks that the broker has ended.
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

/** Whether the message says all that the operator needs. */
function isTheOperators(error: unknown): error is Error {
  return OPERATORS.some(each => error instanceof each)
}

/** Says what went wrong and ends the process; shows the stack if the error is a defect of the broker. */
function die(error: unknown): never {
  if (isTheOperators(error)) {
    fail(error.message)
  }
  fail(error instanceof Error ? (error.stack ?? error.message) : String(error), SOFTWARE_ERROR)
}

/**
 * Every frame is memory outside of V8's heap. By default V8 collects the whole heap each time 64 MB of such memory have
 * come and gone, ten times a second at full load, and finds next to nothing. With this flag that memory counts like the
 * heap's own: a third less CPU for each byte produced, for some hundred MB more at full load (docs/decisions/0011).
 */
function collectLessOften(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/**
 * The reader of the log may go away, and the disk that holds the log may be full. The broker continues, and says so
 * once.
 */
function outliveOutput(): void {
  let isSaid = false
  process.stdout.on('error', ({ message }) => {
    if (isSaid) return
    isSaid = true
    process.stderr.write(`ketch: the log cannot be written to the standard output: ${message}\n`)
  })
  // No stream is left to report it.
  process.stderr.on('error', () => {})
}

/**
 * Runs a broker until it ends, and ends the process with it. Returns only if the arguments asked for something else.
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

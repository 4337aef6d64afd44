// The entry of the command line. It starts a broker, or runs an operator's command over HTTP. Only this file reads
// the arguments and the environment of the process, and it loads only the half that they ask for.

import { stayAlive, systemClock } from './base/clock.ts'

const OLDEST_NODE = 24

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  process.stderr.write(
    `ketch: needs Node ${OLDEST_NODE} or later and this is ${process.versions.node}; ./ketch brings its own\n`,
  )
  process.exit(1)
}

const argv = process.argv.slice(2)
const [verb = 'start'] = argv
if (verb === 'start') await startBroker(argv.slice(1))
else if (['--help', '-h', 'help'].includes(verb) && [undefined, 'settings'].includes(argv[1]))
  await startBroker(['--help', ...argv.slice(1)])
else if (verb.startsWith('-') && !(await import('./cli/verb-first.ts')).meansVerb(argv)) await startBroker(argv)
else if (verb === 'help') await operate([...argv.slice(1), '--help'])
else await operate(argv)

async function startBroker(args: readonly string[]): Promise<void> {
  const { start } = await import('./start.ts')
  // A start that waits for a store has only timers, which do not keep the process alive.
  const alive = stayAlive()
  await start({ argv: args, env: process.env, cwd: process.cwd() })
  alive.cancel()
}

async function operate(words: readonly string[]): Promise<void> {
  const [{ runCommand }, { terminalOf }, { openKeyboard }] = await Promise.all([
    import('./cli/run.ts'),
    import('./cli/terminal.ts'),
    import('./cli/keyboard.ts'),
  ])
  const interrupt = new AbortController()
  process.on('SIGINT', () => interrupt.abort())
  process.on('SIGTERM', () => interrupt.abort())
  // The program that reads the output, such as head, has closed the pipe.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  const alive = stayAlive()
  const terminal = terminalOf(process, process.env, interrupt.signal, openKeyboard)
  process.exitCode = await runCommand(words, terminal, systemClock)
  alive.cancel()
}

// The command line: a broker, or an operator's verb over HTTP. Only here the arguments and the environment of the process are read;
// what either half needs is loaded when it is wanted.

import { stayAlive, systemClock } from './base/clock.ts'

const OLDEST_NODE = 24

if (Number(process.versions.node.split('.')[0]) < OLDEST_NODE) {
  process.stderr.write(
    `ketch: needs Node ${OLDEST_NODE} or later and this is ${process.versions.node}; npm start brings its own\n`,
  )
  process.exit(1)
}

const argv = process.argv.slice(2)
const [verb = 'start'] = argv
if (verb === 'start') await startBroker(argv.slice(1))
else if (verb.startsWith('-') && !(await import('./cli/verb-first.ts')).meansVerb(argv)) await startBroker(argv)
else if (verb === 'help') await startBroker(['--help'])
else await operate()

async function startBroker(args: readonly string[]): Promise<void> {
  const { start } = await import('./start.ts')
  // A start that waits for a store has nothing but timers, which keep no process alive.
  const alive = stayAlive()
  await start({ argv: args, env: process.env, cwd: process.cwd() })
  alive.cancel()
}

async function operate(): Promise<void> {
  const [{ runCommand }, { terminalOf }] = await Promise.all([import('./cli/run.ts'), import('./cli/terminal.ts')])
  const interrupt = new AbortController()
  process.on('SIGINT', () => interrupt.abort())
  process.on('SIGTERM', () => interrupt.abort())
  // Whoever reads, such as head, has enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  const alive = stayAlive()
  process.exitCode = await runCommand(argv, terminalOf(process, process.env, interrupt.signal), systemClock)
  alive.cancel()
}

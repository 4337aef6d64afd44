// Runs the commands of a page of the documentation exactly as written and in their order, on a machine with free ports.
// Each test of a page has a table with the expected output of each command.

import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { type OwnMachine, ownMachine } from '../testing/own-machine.ts'
import { hasProgram } from '../testing/programs.ts'

/** A command of a page. */
export interface Row {
  readonly command: string
  readonly prints: RegExp
  /** The command runs until the next broker starts. */
  readonly isBroker?: true
  readonly needs?: 'curl' | 'kcat' | 'redis-server'
  /** Variables that differ from those of the others. */
  readonly env?: NodeJS.ProcessEnv
}

/** Returns the commands of a page: lines of fenced blocks, and inline code that begins like a command. */
export function commandsOf(page: string): readonly string[] {
  const parts = page.matchAll(
    /^```(?<language>\w*)\n(?<block>[\s\S]*?)^```$|`(?<inline>(?:\.\/ketch|npm|kcat) [^`]+)`/gm,
  )
  return [...parts].flatMap(({ groups }) => {
    if (groups!.inline !== undefined) return [groups!.inline]
    // Settings and code have a language, and diagrams have box characters. Two spaces after a command may begin its
    // description.
    if (groups!.language !== '' || /[─└]/.test(groups!.block!)) return []
    return groups!.block!.split('\n').map(line => line.split(/ {2,}/)[0]!)
  })
}

const isOver = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

const ended = async (child: ChildProcess) => {
  if (!isOver(child)) await once(child, 'close')
}

interface Surroundings {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** Commands that run before the first row and until the end. */
  readonly beside?: readonly string[]
}

/** Runs each command as a test of its own, and checks its output and its exit status. */
export async function runRows(t: TestContext, rows: readonly Row[], { cwd, env, beside = [] }: Surroundings) {
  const machine: OwnMachine = await ownMachine(t)
  const running = new Set<ChildProcess>()
  const start = (line: string, own: NodeJS.ProcessEnv = {}) => {
    const child = machine.run(line, { cwd, env: { ...env, ...own } })
    running.add(child)
    let output = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', chunk => (output += chunk))
    return { child, output: () => output }
  }
  const stop = async (child: ChildProcess) => {
    if (!isOver(child)) process.kill(-child.pid!, 'SIGTERM')
    await ended(child)
    running.delete(child)
  }
  t.after(() => Promise.all([...running].map(stop)))

  for (const line of beside) start(line)
  let broker: ChildProcess | null = null
  for (const { command, prints, isBroker, needs, env: own } of rows) {
    const skip = needs !== undefined && !hasProgram(needs) && `SKIPPED a command of a page: apt-get install ${needs}`
    await t.test(command, { skip }, async () => {
      if (isBroker && broker !== null) await stop(broker)
      const { child, output } = start(command, own)
      if (!isBroker) {
        await ended(child)
        assert.equal(child.exitCode, 0, output())
      } else {
        broker = child
        await new Promise<void>(resolve => {
          child.stdout!.on('data', () => prints.test(output()) && resolve())
          child.once('close', () => resolve())
        })
      }
      assert.match(output(), prints)
    })
  }
}

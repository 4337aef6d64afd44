// A copy of Ketch in a folder of its own, and the start of a broker in it by the command of an operator.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, readdirSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '../testing/eventually.ts'
import { freePort, withoutSettings } from '../testing/process.ts'
import { temporaryFolder } from '../testing/temporary-folder.ts'

/** The first start of a fresh copy downloads all packages. */
const LONGEST_START_MS = 400_000

const root = fileURLToPath(new URL('..', import.meta.url))

/** Copies what a release has. The packages are those of this checkout, as links. */
export async function copyOfKetch(
  t: TestContext,
  { packages }: { packages: 'all' | 'of the broker' | 'none' },
): Promise<string> {
  const copy = await temporaryFolder(t, 'ketch-')
  const ofConsole = readdirSync(join(root, 'console')).filter(name => !/^(dist|node_modules|\.dist.*)$/.test(name))
  const files = [
    ...['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'ketch', 'scripts', 'src'],
    ...ofConsole.map(name => join('console', name)),
  ]
  // Node copies a folder in native code only by this function and without a filter.
  for (const name of files) cpSync(join(root, name), join(copy, name), { recursive: true })
  if (packages !== 'none') await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  if (packages === 'all') await symlink(join(root, 'console/node_modules'), join(copy, 'console/node_modules'))
  return copy
}

interface Started {
  /** The port of Kafka clients. */
  readonly port: number
  readonly url: string
  /** The lines of the launcher, without those of npm and of the broker. */
  readonly said: string
  stop(): Promise<void>
}

interface Start {
  readonly command?: readonly string[]
  readonly settings?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a broker by a command in this folder and resolves when it listens. */
export async function start(
  t: TestContext,
  cwd: string,
  { command = ['npm', 'start', '--'], settings = [], env = {} }: Start = {},
): Promise<Started> {
  const port = await freePort()
  const args = [
    ...['--svc.broker.host=127.0.0.1', `--svc.broker.port=${port}`],
    ...[
      '--server.address=127.0.0.1',
      '--server.port=0',
      `--svc.storage.local.embedded.path=${await temporaryFolder(t, 'ketch-')}`,
    ],
    ...settings,
  ]
  const [program, ...rest] = [...command, ...args]
  const child = spawn(program!, rest, { cwd, detached: true, env: { ...withoutSettings(process.env), ...env } })
  let hasClosed = false
  let out = ''
  let err = ''
  child.stdout.on('data', chunk => (out += chunk))
  child.stderr.on('data', chunk => (err += chunk))
  const closed = new Promise<void>(resolve =>
    child.on('close', () => {
      hasClosed = true
      resolve()
    }),
  )
  t.after(() => hasClosed || process.kill(-child.pid!, 'SIGKILL'))
  await eventually('the broker listens', () => hasClosed || out.includes('Kafka clients connect'), LONGEST_START_MS)
  assert.ok(!hasClosed, `${out}${err}`)
  return {
    port,
    url: /the admin API answers at (\S+)/.exec(out)![1]!,
    said: err,
    async stop() {
      process.kill(-child.pid!, 'SIGTERM')
      await closed
    },
  }
}

// Runs the broker as a child process, so that a test can kill it and start it again on the same folder. The start is
// the same as the launcher's. For tests of behaviour, testing/broker.ts is cheaper.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { NODE_ENVIRONMENT, NODE_FLAGS } from '../scripts/node24.mjs'
import { assert } from '../src/base/assert.ts'
import { systemClock } from '../src/base/clock.ts'
import type { CleanUp } from './broker.ts'
import { chosenStoreSettings } from './chosen-store.ts'
import { endWithUs } from './end-with-us.ts'
import { freePort } from './free-port.ts'

export { freePort }

const root = fileURLToPath(new URL('..', import.meta.url))

export interface BrokerProcess {
  readonly host: '127.0.0.1'
  /** The port stays the same after a restart. */
  readonly port: number
  /** The value of a client's `bootstrap.servers`. */
  readonly address: string
  /** The address of the HTTP side since the latest start. */
  readonly url: string
  readonly pid: number
  /** The embedded store's folder. */
  readonly folder: string
  /** Returns the output of the process since the first start, including all restarts. */
  output(): string
  /** The milliseconds of the latest start until the broker printed its Kafka address. */
  readonly startedInMs: number
  /** Sends the signal. Resolves to the exit status when the process has ended; null if a signal ended it. */
  kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT'): Promise<number | null>
  /** Sends SIGSTOP: the broker keeps its sockets and answers nothing until resume(). */
  pause(): void
  resume(): void
  /** Starts the broker again on the same folder and port. It must not be running. */
  start(): Promise<void>
  /** Resolves to the exit status when the process has ended by itself or was killed. */
  readonly exited: Promise<number | null>
}

/**
 * Starts a broker on a free port and resolves when it has printed its Kafka address. If the options give neither a
 * folder nor a Redis, the broker has a store of its own of the chosen kind (testing/chosen-store.ts). A given folder is
 * left in place. Settings are full keys (`svc.broker.in-flight-limit`), as on the command line. Rejects with the output
 * of the broker if the broker ends first or prints no Kafka address within three minutes.
 */
export async function startBrokerProcess(
  cleanUp: CleanUp,
  options: {
    settings?: Readonly<Record<string, string>>
    folder?: string
    port?: number
    nodeFlags?: readonly string[]
    /** Wraps the broker's command in one that runs it in a process with the same id; by default no wrapper. */
    within?: (command: readonly string[]) => readonly string[]
  } = {},
): Promise<BrokerProcess> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'ketch-')))
  const port = options.port ?? (await freePort())
  const hasStore = options.folder !== undefined || Object.hasOwn(options.settings ?? {}, 'svc.redis.uri')
  const args = Object.entries({
    'svc.broker.host': '127.0.0.1',
    'svc.broker.port': String(port),
    'server.address': '127.0.0.1',
    'server.port': '0',
    'svc.storage.local.embedded.path': folder,
    ...(hasStore ? {} : await chosenStoreSettings(cleanUp)),
    ...options.settings,
  }).map(([key, value]) => `--${key}=${value}`)
  let child: ChildProcess
  let output = ''
  let startedInMs = 0
  let exited: Promise<number | null>
  let running = false

  const start = async () => {
    assert(!running, 'the broker is running')
    const begunAt = systemClock.monotonic()
    const from = output.length
    const flags = [...NODE_FLAGS, ...(options.nodeFlags ?? [])]
    const own = [process.execPath, ...flags, join(root, 'src', 'main.ts'), ...args]
    const [program, ...rest] = options.within?.(own) ?? own
    child = spawn(program!, rest, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...NODE_ENVIRONMENT, ...withoutSettings(process.env) },
    })
    endWithUs(child)
    running = true
    const announced = Promise.withResolvers<void>()
    // The broker prints the second line if svc.broker.enabled is false.
    const announcement = new RegExp(`clients connect to .*:${port}\\b|clients cannot connect to this process`)
    const listen = (chunk: Buffer) => {
      output += chunk
      // A broker that waits for its id names the address too, before it listens.
      if (announcement.test(output.slice(from))) announced.resolve()
    }
    child.stdout!.on('data', listen)
    child.stderr!.on('data', listen)
    exited = new Promise(resolve => {
      child.on('close', status => {
        running = false
        announced.reject(new Error(`the broker ended with status ${status}; it printed:\n${output.slice(from)}`))
        resolve(status)
      })
    })
    child.on('error', announced.reject)
    const silence = setTimeout(
      () => announced.reject(new Error(`no Kafka address within three minutes; printed:\n${output.slice(from)}`)),
      180_000,
    )
    try {
      await announced.promise
    } finally {
      clearTimeout(silence)
    }
    startedInMs = systemClock.monotonic() - begunAt
  }

  cleanUp.after(async () => {
    if (running) {
      child.kill('SIGKILL')
      await exited
    }
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true })
  })
  await start()
  return {
    host: '127.0.0.1',
    port,
    address: `127.0.0.1:${port}`,
    folder,
    get pid() {
      assert(child.pid !== undefined, 'the broker was started')
      return child.pid
    },
    get url() {
      const [, url] = [...output.matchAll(/the admin API answers at (\S+)/g)].at(-1) ?? []
      assert(url !== undefined, 'the broker has logged the address of its HTTP side')
      return url
    },
    get startedInMs() {
      return startedInMs
    },
    get exited() {
      return exited
    },
    output: () => output,
    async kill(signal) {
      assert(running, 'the broker is not running')
      child.kill(signal)
      return await exited
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    start,
  }
}

/** Returns the environment without broker settings, which would otherwise change the broker under test. */
export function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(SVC|LOGGING|SERVER|MANAGEMENT)_/.test(name)),
  )
}

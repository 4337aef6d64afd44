// Measures the cost of clients that sign in, or do not: the flood beside producers that have signed in, and the
// reconnection of many clients at once. All connections use TLS. The clients run on the same machine, and their halves
// of the TLS handshakes cost about as much as the broker's.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { storeCredential } from '../src/admin/credentials.ts'
import { sleep, systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/random.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import { type KeyKind, makeCertificate } from '../testing/certificate.ts'
import { freePort } from '../testing/free-port.ts'
import { connectFrom, logIn, type Mechanism, type Where } from '../testing/log-in.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { cpuSeconds, type Finding, type Harness, median, type Question, residentOf } from './harness.ts'
import type { Hostile } from './hostile.ts'
import { LOOP_DELAY_FLAG, loopDelay } from './loop-delay.ts'
import { BATCH_BYTES, type Paced, produceAtFullSpeed, producePaced } from './producers.ts'
import type { Reconnected } from './reconnect.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const MB = 2 ** 20
const PASSWORD = 'the right password'
const PARTITIONS = 10
const MECHANISMS: readonly Mechanism[] = ['SCRAM-SHA-256', 'PLAIN']

const HALF_OPEN = 1_000
const LOGINS_A_MINUTE = 10_000
/** Long enough for the memory of the broker to reach its usual size. */
const ALONE_SECONDS = 20
/** Half-open handshakes are closed after 10 s and half-open exchanges after 30 s, so a round sees both. */
const LEAST_FLOOD_SECONDS = 35
const AFTER_MS = 10_000
const CLIENTS = 2_000
const IDLE_MS = 5_000
/** The clients leave the processors to the broker, as clients on other machines would. */
const LOW_PRIORITY = 10

export const flood: Question = {
  name: 'security-flood',
  asks: `producers that have signed in, at half their rate, beside ${HALF_OPEN} half-open TLS handshakes, ${HALF_OPEN} half-open SASL exchanges and ${LOGINS_A_MINUTE} failed logins a minute`,
  async answer(harness) {
    const secured = await startSecured(harness, { users: 100, keyKind: 'ec' })
    return await measureFlood(harness, secured)
  },
}

export const reconnect: Question = {
  name: 'security-reconnect',
  asks: `${CLIENTS} SCRAM and ${CLIENTS} PLAIN clients that connect over TLS at once`,
  async answer(harness) {
    const findings: Finding[] = []
    for (const keyKind of ['ec', 'rsa'] as const)
      for (const users of [CLIENTS, 5]) {
        const secured = await startSecured(harness, { users, keyKind })
        findings.push(...(await measureReconnection(harness, secured, `${users} users each, ${keyKind} key`, users)))
        await secured.broker.kill('SIGTERM')
      }
    return findings
  },
}

interface Secured {
  readonly broker: BrokerProcess
  readonly where: Where
  readonly caFile: string
}

/** Starts a broker whose first listener is `sasl-tls`, with this number of users of each mechanism. */
async function startSecured(
  harness: Harness,
  { users, keyKind }: { readonly users: number; readonly keyKind: KeyKind },
): Promise<Secured> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-security-'))
  harness.after(() => rm(folder, { recursive: true, force: true }))
  const { keyFile, certificateFile: caFile } = await makeCertificate(harness, undefined, keyKind)
  await storeUsers(folder, users)
  const settings = {
    'svc.broker.tls': 'true',
    'svc.broker.cert-file': caFile,
    'svc.broker.key-file': keyFile,
    'svc.broker.sasl.enabled': 'true',
    'svc.broker.sasl.mechanisms': MECHANISMS.join(','),
    'svc.broker.listeners[0].name': 'OPEN',
    'svc.broker.listeners[0].port': String(await freePort()),
    'svc.broker.listeners[0].security': 'plaintext',
  }
  const broker = await startBrokerProcess(harness, {
    settings,
    folder,
    nodeFlags: [LOOP_DELAY_FLAG],
  })
  const port = Number(settings['svc.broker.listeners[0].port'])
  await harness.topic(port, 'bench', PARTITIONS, { 'retention.bytes': String(64 * MB) })
  return { broker, where: { port: broker.port, tls: { ca: await readFile(caFile), servername: 'localhost' } }, caFile }
}

async function storeUsers(path: string, users: number): Promise<void> {
  const store = await openEmbeddedStore({
    path,
    fsync: 'interval',
    fsyncIntervalMs: 1_000,
    clock: systemClock,
    report: message => console.error(message),
  })
  const rooms = { store, clock: systemClock, random: systemRandom }
  for (let at = 0; at < users; at += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, users - at) }, (_, i) =>
        MECHANISMS.map(async mechanism => {
          const username = `${mechanism}-${at + i}`
          const { kind } = await storeCredential(rooms, {
            username,
            mechanism,
            iterations: 10_000,
            tenantId: null,
            password: PASSWORD,
          })
          if (kind !== 'stored') throw new Error(`the credential of ${username} is ${kind}`)
        }),
      ).flat(),
    )
  }
  await store.close()
}

async function measureFlood(harness: Harness, { broker, where, caFile }: Secured): Promise<Finding[]> {
  let joined = 0
  const join = async () => {
    const at = joined++ % PARTITIONS
    const wire = await connectFrom(where, at)
    const code = await logIn(wire, {
      mechanism: MECHANISMS[0]!,
      username: `${MECHANISMS[0]}-${at}`,
      password: PASSWORD,
    })
    if (code !== 0) throw new Error(`error ${code} to the login of a producer`)
    // The producers read the answers themselves.
    wire.socket.removeAllListeners('data')
    return wire.socket
  }
  await produceAtFullSpeed(join, 2)
  const perSecond = (await produceAtFullSpeed(join, 3)) / 2
  harness.say(`half of the full rate: ${((perSecond * BATCH_BYTES) / MB).toFixed(1)} MB/s`)
  const rounds: {
    readonly alone: Paced
    readonly beside: Paced
    readonly hostile: Hostile
    readonly grownMB: number
    readonly keptMB: number
  }[] = []
  for (let round = 0; round < harness.rounds; round++) {
    const watch = watchMemory(broker.pid)
    await loopDelay(broker)
    const alone = await producePaced(join, perSecond, Math.max(harness.seconds, ALONE_SECONDS))
    const before = { most: watch.end(), delay: await loopDelay(broker) }
    const hostile = await startProgram<Hostile>('hostile.ts', {
      port: where.port,
      ca: caFile,
      tls: HALF_OPEN,
      sasl: HALF_OPEN,
      logins: LOGINS_A_MINUTE,
    })
    const watchBeside = watchMemory(broker.pid)
    const beside = await producePaced(join, perSecond, Math.max(harness.seconds, LEAST_FLOOD_SECONDS))
    const after = { most: watchBeside.end(), delay: await loopDelay(broker) }
    const found = await hostile.ask()
    await hostile.kill()
    await sleep(systemClock, AFTER_MS)
    const keptBytes = residentOf(broker.pid) - before.most
    rounds.push({ alone, beside, hostile: found, grownMB: (after.most - before.most) / MB, keptMB: keptBytes / MB })
    const latest = rounds.at(-1)!
    harness.say(
      `pace ${alone.pace.toFixed(3)} then ${beside.pace.toFixed(3)}, p99 ${alone.p99Ms.toFixed(1)} then ${beside.p99Ms.toFixed(1)} ms, ` +
        `loop p99.9 ${before.delay.p999.toFixed(1)} then ${after.delay.p999.toFixed(1)} ms, ` +
        `resident ${(before.most / MB).toFixed(0)} MB, grew by ${latest.grownMB.toFixed(0)} and kept ${latest.keptMB.toFixed(0)} MB, ` +
        `${(found.refused / found.seconds).toFixed(0)} refused and ${found.closed} closed and ${found.unconnected} unconnected logins, ${found.reopened} reopened`,
    )
  }
  const each = (figure: (round: (typeof rounds)[number]) => number) => rounds.map(figure)
  return [
    {
      what: 'pace of the producers beside the flood',
      value: median(each(({ beside }) => beside.pace)),
      unit: 'of what was due',
      floor: 0.95,
      samples: each(({ beside }) => beside.pace),
      baseSamples: each(({ alone }) => alone.pace),
    },
    {
      what: 'p99 of a produce beside the flood',
      value: median(each(({ beside }) => beside.p99Ms)),
      unit: 'ms',
      samples: each(({ beside }) => beside.p99Ms),
      notes: `${median(each(({ alone }) => alone.p99Ms)).toFixed(1)} ms alone`,
    },
    {
      what: 'growth of the resident memory in the flood',
      value: Math.max(...each(({ grownMB }) => grownMB)),
      unit: 'MB',
      ceiling: 100,
      samples: each(({ grownMB }) => grownMB),
    },
    {
      what: `growth that is left ${AFTER_MS / 1000} s after the last flood`,
      value: rounds.at(-1)!.keptMB,
      unit: 'MB',
      samples: each(({ keptMB }) => keptMB),
    },
    {
      what: 'failed logins that were answered',
      value: median(each(({ hostile }) => (hostile.refused / hostile.seconds) * 60)),
      unit: 'a minute',
      notes: `${Math.max(...each(({ hostile }) => hostile.closed + hostile.unconnected))} got no answer in the worst round`,
    },
  ]
}

/** Returns a function that ends the watch and returns the most resident bytes. */
function watchMemory(pid: number): { end(): number } {
  let most = residentOf(pid)
  const timer = setInterval(() => {
    most = Math.max(most, residentOf(pid))
  }, 200)
  return {
    end() {
      clearInterval(timer)
      return most
    },
  }
}

async function measureReconnection(
  harness: Harness,
  { broker, where, caFile }: Secured,
  name: string,
  users: number,
): Promise<Finding[]> {
  const rounds: {
    readonly came: Reconnected
    readonly idleMs: number
    readonly delayMs: number
    readonly maxMs: number
  }[] = []
  for (let round = 0; round < harness.rounds; round++) {
    // A new process remembers no password, as after the restart that makes all clients reconnect.
    if (round > 0) {
      await broker.kill('SIGTERM')
      await broker.start()
    }
    await loopDelay(broker)
    await sleep(systemClock, IDLE_MS)
    const idle = await loopDelay(broker)
    const before = cpuSeconds(broker.pid)
    const program = await startProgram<Reconnected>('reconnect.ts', {
      port: where.port,
      ca: caFile,
      clients: CLIENTS,
      users,
      password: PASSWORD,
    })
    await loopDelay(broker)
    const came = await program.ask()
    const delay = await loopDelay(broker)
    await program.kill()
    rounds.push({ came, idleMs: idle.p999, delayMs: delay.p999, maxMs: delay.max })
    harness.say(
      `${name}: half after ${came.seconds.half.toFixed(1)} s, all after ${came.seconds.all.toFixed(1)} s, ${came.retries} retries, ` +
        `loop p99.9 ${idle.p999.toFixed(1)} then ${delay.p999.toFixed(1)} ms, max ${delay.max.toFixed(0)} ms, ` +
        `CPU ${(cpuSeconds(broker.pid) - before).toFixed(1)} s and ${came.cpuSeconds.toFixed(1)} s of the clients`,
    )
  }
  const grown = rounds.map(({ idleMs, delayMs }) => delayMs - idleMs)
  const seconds = rounds.map(({ came }) => came.seconds.all)
  return [
    { what: `until all are signed in, ${name}`, value: median(seconds), unit: 's', ceiling: 30, samples: seconds },
    {
      what: `p99.9 of the loop delay above the idle run, ${name}`,
      value: median(grown),
      unit: 'ms',
      ceiling: 20,
      samples: grown,
      notes: `the longest delay was ${Math.max(...rounds.map(({ maxMs }) => maxMs)).toFixed(0)} ms`,
    },
  ]
}

/** Starts a program of this folder and resolves when it has printed its first line. */
async function startProgram<T>(
  program: 'hostile.ts' | 'reconnect.ts',
  args: Readonly<Record<string, string | number>>,
): Promise<{
  /** Sends a line to the program, and resolves with the JSON of the line with which it answers. */
  ask(): Promise<T>
  kill(): Promise<void>
}> {
  const flags = Object.entries(args).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(process.execPath, [join(here, program), ...flags], { stdio: ['pipe', 'pipe', 'inherit'] })
  setPriority(child.pid!, LOW_PRIORITY)
  const gone = once(child, 'close')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextLine = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${program} ended with status ${(await gone)[0]}`)
    return value
  }
  await nextLine()
  return {
    async ask() {
      child.stdin.write('\n')
      return JSON.parse(await nextLine()) as T
    },
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}

// Shared by every benchmark. It starts all programs that it compares in one run, interleaves the rounds (A B A B),
// takes medians, and writes the results with the commit and the machine. The load runs on the same machine, so read
// the figures as ratios.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { provenance } from '../testing/provenance.ts'
import { createTopic } from '../testing/topic.ts'
import type { Load } from './generator.ts'
import type { Paced } from './paced.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

/** KETCH_BROKER_FLAGS has flags of Node for the brokers, such as `--cpu-prof --cpu-prof-dir=/tmp/profiles`. */
const BROKER_FLAGS = process.env.KETCH_BROKER_FLAGS?.split(' ') ?? []

/** One line of a result: the measured value, the base that it is compared with, and the limit that the issue sets. */
export interface Finding {
  readonly what: string
  readonly value: number
  readonly unit: string
  /** value / base, if there is a base. */
  readonly ratio?: number
  readonly ratioOf?: string
  readonly floor?: number
  readonly ceiling?: number
  /** The values that the median was taken of. */
  readonly samples?: readonly number[]
  /** The samples of the base, if the base is a median too. */
  readonly baseSamples?: readonly number[]
  readonly notes?: string
}

/** A process that the generator can send load to. */
export interface Served {
  readonly port: number
  readonly pid: number
}

export interface Harness {
  readonly rounds: number
  readonly seconds: number
  /** Registers a function that ends something. They run after the question is answered, the newest first. */
  after(fn: () => Promise<void>): void
  /** Starts a broker. `within` gets the broker's command and returns the command to run instead. */
  broker(
    settings?: Readonly<Record<string, string>>,
    folder?: string,
    within?: (command: readonly string[]) => readonly string[],
  ): Promise<BrokerProcess>
  /** Starts bench/ceiling.ts. */
  ceiling(mode: 'produce' | 'fetch' | 'park', args?: readonly string[]): Promise<Served>
  /** Starts bench/relay.ts in front of a port. */
  relay(to: number): Promise<Served>
  /** Runs bench/generator.ts to its end. Rejects if the broker refuses a request. */
  load(mode: 'produce' | 'fetch', to: Served, args: Readonly<Record<string, string | number | true>>): Promise<Measured>
  /** Runs bench/paced.ts to its end. Rejects as `load` does. */
  paced(mode: 'produce' | 'xadd', port: number, args: Readonly<Record<string, string | number>>): Promise<Paced>
  topic(port: number, name: string, partitions: number, configs?: Readonly<Record<string, string>>): Promise<void>
  /**
   * Resolves with the results of `rounds` rounds. If the host of a virtual machine takes the processors away during a
   * round, its latencies describe the host and not the broker. Such a round runs again, up to a limit. If too few
   * rounds were quiet, all of them count.
   */
  quietly<T>(round: () => Promise<T>): Promise<{ readonly found: readonly T[]; readonly notes: string }>
  say(line: string): void
}

export interface Measured extends Load {
  /**
   * CPU milliseconds of the served process, all its threads, for each 100 MB measured. The CPU time of the whole load
   * with its warm-up is scaled to the measured part. The figure tells a slow program from a busy machine.
   */
  readonly cpuMsPer100MB: number
}

export interface Question {
  readonly name: string
  readonly asks: string
  /** Returns why this machine cannot answer the question, and how to enable it; null if it can. */
  absence?(): string | null
  answer(harness: Harness): Promise<readonly Finding[]>
}

export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * Answers one question, prints the findings and writes them to results/. Resolves with whether every floor and
 * ceiling was met.
 */
export async function ask(question: Question, options: { rounds: number; seconds: number }): Promise<boolean> {
  const absence = question.absence?.() ?? null
  if (absence !== null) {
    console.log(`${question.name}: SKIPPED, ${absence}`)
    return true
  }
  const ends: (() => Promise<void>)[] = []
  const harness: Harness = {
    ...options,
    after: fn => void ends.push(fn),
    broker: (settings = {}, folder, within) =>
      startBrokerProcess(
        { after: fn => void ends.push(fn) },
        {
          settings,
          nodeFlags: BROKER_FLAGS,
          ...(folder === undefined ? {} : { folder }),
          ...(within === undefined ? {} : { within }),
        },
      ),
    ceiling: (mode, args = []) => startServer('ceiling.ts', [mode, ...args], fn => void ends.push(fn)),
    relay: to => startServer('relay.ts', ['--to', String(to)], fn => void ends.push(fn)),
    async load(mode, to, args) {
      const before = cpuSeconds(to.pid)
      const load = await runProgram<Load>('generator.ts', mode, to.port, args)
      const share = load.seconds / (load.seconds + load.warmUpSeconds)
      const cpuMs = (cpuSeconds(to.pid) - before) * 1000 * share
      return { ...load, cpuMsPer100MB: cpuMs / (load.bytes / 1e8) }
    },
    paced: (mode, port, args) => runProgram<Paced>('paced.ts', mode, port, args),
    topic: (port, name, partitions, configs) => createTopic({ port }, name, partitions, configs),
    quietly: round => runQuietly(options.rounds, round),
    say: line => console.log(`  ${line}`),
  }
  console.log(`${question.name}: ${question.asks}`)
  try {
    const findings = await question.answer(harness)
    for (const finding of findings) console.log(`  ${describe(finding)}`)
    await writeResult(question, options, findings)
    return findings.every(isMet)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

function isMet({ value, ratio, floor, ceiling }: Finding): boolean {
  return (floor === undefined || (ratio ?? value) >= floor) && (ceiling === undefined || (ratio ?? value) <= ceiling)
}

function describe(finding: Finding): string {
  const { what, value, unit, ratio, ratioOf, floor, ceiling, notes } = finding
  const parts = [`${what}: ${round(value)} ${unit}`]
  if (ratio !== undefined) parts.push(`${ratio.toFixed(2)} of ${ratioOf}`)
  if (floor !== undefined) parts.push(`floor ${floor}: ${isMet(finding) ? 'met' : 'NOT MET'}`)
  if (ceiling !== undefined) parts.push(`at most ${ceiling}: ${isMet(finding) ? 'met' : 'NOT MET'}`)
  if (notes !== undefined) parts.push(notes)
  return parts.join(', ')
}

function round(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

async function writeResult(question: Question, options: object, findings: readonly Finding[]): Promise<void> {
  const result = {
    question: question.name,
    asks: question.asks,
    ...provenance(),
    options,
    findings,
  }
  const folder = join(here, 'results')
  const path = join(folder, `${result.at.slice(0, 10)}-${question.name}`)
  await mkdir(folder, { recursive: true })
  await writeFile(`${path}.json`, `${JSON.stringify(result, null, 2)}\n`)
  const { machine } = result
  const lines = [
    `# ${question.name}`,
    '',
    question.asks,
    '',
    `${result.at}, commit ${result.commit}, ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGB} GB, Node ${machine.node}. ` +
      'The load ran on the same machine: read the ratios.',
    '',
    ...findings.map(finding => `- ${describe(finding)}`),
    '',
  ]
  await writeFile(`${path}.md`, lines.join('\n'))
}

/** Starts a program of this folder, which prints its port. It ends after the question is answered. */
async function startServer(
  program: 'ceiling.ts' | 'relay.ts',
  args: readonly string[],
  after: (fn: () => Promise<void>) => void,
): Promise<Served> {
  const child = spawn(process.execPath, [join(here, program), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = new Promise<void>(resolve => child.once('close', () => resolve()))
  after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  return await new Promise((resolve, reject) => {
    let printed = ''
    child.stdout.on('data', chunk => {
      printed += chunk
      const match = /:(\d+)\n/.exec(printed)
      if (match) resolve({ port: Number(match[1]), pid: child.pid! })
    })
    child.once('close', status => reject(new Error(`${program} ended with status ${status}`)))
  })
}

/** Returns the user and system time so far of a process and its threads, or of one thread (proc(5), ticks of 10 ms). */
export function cpuSeconds(pid: number, thread?: number): number {
  const path = thread === undefined ? `/proc/${pid}/stat` : `/proc/${pid}/task/${thread}/stat`
  const fields = readFileSync(path, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Returns the bytes that a process has caused to be written to disks so far (proc(5)). */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))![1])
}

/** Returns the resident bytes of a process (proc(5)). */
export function residentOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}

/** The largest share of the processors' time that the host may take during a quiet round. */
const QUIET_SHARE = 0.002
/** The largest number of rounds that run for each round that counts. */
const PATIENCE = 4

async function runQuietly<T>(rounds: number, round: () => Promise<T>): Promise<{ found: T[]; notes: string }> {
  const all: T[] = []
  const quiet: T[] = []
  while (quiet.length < rounds && all.length < rounds * PATIENCE) {
    const before = processorTicks()
    const found = await round()
    const after = processorTicks()
    all.push(found)
    if ((after.stolen - before.stolen) / (after.all - before.all) <= QUIET_SHARE) quiet.push(found)
  }
  const isEnough = quiet.length === rounds
  const notes = isEnough
    ? `${all.length} rounds, of which the host disturbed ${all.length - rounds}; those do not count`
    : `${all.length} rounds; the host left only ${quiet.length} alone, so all count`
  return { found: isEnough ? quiet : all, notes }
}

/**
 * Returns the ticks of all processors since the machine started: all ticks, and the ticks stolen by the host
 * (proc(5)).
 */
function processorTicks(): { all: number; stolen: number } {
  const [line] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  // The ticks of guests, after the eighth column, are already included in the user's ticks.
  const ticks = line!.split(/ +/).slice(1, 9).map(Number)
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 }
}

/** A load that takes this much longer than it was asked to is ended: some request got no answer. */
const LONGEST_LOAD_MS = 300_000

/** Runs a program of this folder and resolves with the one line that it prints after its load. */
async function runProgram<T>(
  program: 'generator.ts' | 'paced.ts',
  mode: string,
  port: number,
  args: Readonly<Record<string, string | number | true>>,
): Promise<T> {
  const flags = [['port', port] as const, ...Object.entries(args)].flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, String(value)],
  )
  const child = spawn(process.execPath, [join(here, program), mode, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  let complaints = ''
  // The program is ended after its line. In about one of twenty runs Node did not end after process.exit.
  child.stdout.on('data', chunk => {
    printed += chunk
    if (printed.endsWith('\n')) child.kill('SIGKILL')
  })
  child.stderr.on('data', chunk => (complaints += chunk))
  const deadline = setTimeout(() => child.kill('SIGKILL'), LONGEST_LOAD_MS + Number(args.seconds ?? 0) * 1000)
  const status = await new Promise(resolve => child.once('close', resolve))
  clearTimeout(deadline)
  if (!printed.endsWith('\n')) throw new Error(`${program} ended with status ${status}: ${complaints}`)
  return JSON.parse(printed)
}

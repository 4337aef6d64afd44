// The gauges of the soak, and its test for flatness: a straight line through the second half of the samples may rise
// only by an allowed amount. So caches that fill at the beginning do not count as a leak, and one high sample does
// not either.

import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sleep, systemClock } from '../../src/base/clock.ts'
import type { BrokerProcess } from '../../testing/process.ts'

/** The counters of probe.ts: objects and bytes that are left after a full garbage collection. */
export interface Probe {
  readonly timers: number
  readonly sockets: number
  readonly handles: number
  readonly heapUsed: number
  readonly external: number
}

export const PROBE_WORD = 'probe '

/** Each gauge: its unit and name, and its allowed rise (the larger of an amount and a share of its mean). */
export const GAUGES = Object.freeze({
  anonymous: { unit: 'MB', amount: 16, share: 0.05, doc: 'anonymous memory' },
  live: { unit: 'MB', amount: 8, share: 0.05, doc: 'live heap and buffers' },
  sockets: { unit: '', amount: 2, share: 0, doc: 'sockets' },
  timers: { unit: '', amount: 5, share: 0, doc: 'timers' },
  handles: { unit: '', amount: 2, share: 0, doc: 'handles' },
  files: { unit: '', amount: 2, share: 0, doc: 'open files' },
  journals: { unit: '', amount: 2, share: 0, doc: 'journal files' },
  // One file of the journal (256 MB), and some more.
  disk: { unit: 'MB', amount: 300, share: 0.1, doc: 'disk' },
} as const)

export type GaugeName = keyof typeof GAUGES
export type Sample = Readonly<Record<GaugeName, number>>

const PROBE_WITHIN_MS = 10_000

/** Takes one sample. The broker must have been started with probe.ts. */
export async function takeSample(broker: BrokerProcess): Promise<Sample> {
  // Read before the probe, because the probe's garbage collection frees memory that the broker would have kept.
  const status = await readFile(`/proc/${broker.pid}/status`, 'utf8')
  const anonymous = (Number(/RssAnon:\s+(\d+) kB/.exec(status)![1]) * 1024) / 1e6
  const probe = await ask(broker)
  const descriptors = await describeDescriptors(broker.pid)
  const kept = await measureFolder(broker.folder)
  return {
    anonymous,
    live: (probe.heapUsed + probe.external) / 1e6,
    sockets: descriptors.filter(target => target.startsWith('socket:')).length,
    timers: probe.timers,
    handles: probe.handles,
    files: descriptors.filter(target => target.startsWith('/')).length,
    ...kept,
  }
}

async function ask(broker: BrokerProcess): Promise<Probe> {
  const from = broker.output().length
  process.kill(broker.pid, 'SIGUSR2')
  for (let waitedMs = 0; waitedMs < PROBE_WITHIN_MS; waitedMs += 20) {
    const at = broker.output().indexOf(PROBE_WORD, from)
    const end = broker.output().indexOf('\n', at)
    if (at >= 0 && end >= 0) return JSON.parse(broker.output().slice(at + PROBE_WORD.length, end))
    await sleep(systemClock, 20)
  }
  throw new Error(`the broker did not answer the probe within ${PROBE_WITHIN_MS} ms`)
}

/** Returns the target of each open descriptor. */
async function describeDescriptors(pid: number): Promise<readonly string[]> {
  const names = await readdir(`/proc/${pid}/fd`)
  const targets = names.map(name => readlink(`/proc/${pid}/fd/${name}`).catch(unlessGone))
  return (await Promise.all(targets)).filter(target => target !== null)
}

async function measureFolder(folder: string): Promise<{ journals: number; disk: number }> {
  let journals = 0
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const found = await stat(join(entry.parentPath, entry.name)).catch(unlessGone)
    if (found === null) continue
    bytes += found.blocks * 512
    if (entry.name.startsWith('journal-')) journals++
  }
  return { journals, disk: bytes / 1e6 }
}

/** The file may have been deleted between the listing and this call. */
function unlessGone(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/**
 * Returns by how much the best-fitting straight line rises from the first to the last of the values (least squares).
 */
export function riseOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  let slope = 0
  let spread = 0
  values.forEach((value, at) => {
    slope += (at - middle) * value
    spread += (at - middle) ** 2
  })
  return spread === 0 ? 0 : (slope / spread) * (values.length - 1)
}

export interface Trend {
  readonly name: GaugeName
  readonly rise: number
  readonly allowed: number
  readonly isFlat: boolean
}

/** Returns the trend of every gauge over the second half of the samples. */
export function judgeTrends(samples: readonly Sample[]): readonly Trend[] {
  const half = samples.slice(Math.floor(samples.length / 2))
  return (Object.keys(GAUGES) as GaugeName[]).map(name => {
    const values = half.map(sample => sample[name])
    const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
    const allowed = Math.max(GAUGES[name].amount, GAUGES[name].share * mean)
    const rise = riseOf(values)
    return { name, rise, allowed, isFlat: rise <= allowed }
  })
}

// Measures the cost of many waiting consumers for producers: 2,000 connections that each park a fetch on 100
// partitions, with fetch sessions and without. For comparison the same connections wait at a program that only
// answers.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Finding, type Harness, type Measured, median, type Question, type Served } from './harness.ts'

const PARKED = { topic: 'parked', partitions: 100, connections: 2000 }

const here = fileURLToPath(new URL('.', import.meta.url))

export const waiting: Question = {
  name: 'waiting',
  asks: 'produce while 2,000 connections each park a fetch on 100 partitions, over and over',
  answer: measureParked,
}

async function measureParked(harness: Harness): Promise<Finding[]> {
  const broker = await harness.broker()
  await harness.topic(broker.port, 'bench', 16, { 'retention.bytes': String(64 * 2 ** 20) })
  await harness.topic(broker.port, PARKED.topic, PARKED.partitions)
  const args = { partitions: 16, connections: 8, 'in-flight': 5, seconds: harness.seconds }
  await harness.load('produce', broker, { ...args, bytes: 1e9 })
  const bare = await harness.ceiling('park', ['--topic', PARKED.topic, '--partitions', String(PARKED.partitions)])
  const ways = [
    { name: 'no fetch waits', at: null, flags: [], floor: {} },
    {
      name: '2,000 wait with sessions, as many as there are slots',
      at: broker,
      flags: ['--sessions'],
      floor: { floor: 0.8 },
    },
    { name: '2,000 wait without sessions', at: broker, flags: [], floor: { floor: 0.8 } },
    // The loss that any program causes: the work of the connections, of the system, and of sending any answer.
    { name: '2,000 wait at a program that only answers', at: bare, flags: [], floor: {} },
  ]
  const loads = ways.map((): Measured[] => [])
  for (let round = 0; round < harness.rounds; round++) {
    for (const [index, { name, at, flags }] of ways.entries()) {
      const end = at === null ? async () => {} : await park(at, flags)
      const load = await harness.load('produce', broker, args)
      loads[index]!.push(load)
      const { megabytesPerSecond, cpuMsPer100MB } = load
      harness.say(
        `while ${name}: ${megabytesPerSecond.toFixed(0)} MB/s, ${cpuMsPer100MB.toFixed(0)} ms of CPU for 100 MB`,
      )
      await end()
    }
  }
  const rates = loads.map(each => each.map(({ megabytesPerSecond }) => megabytesPerSecond))
  const alone = median(rates[0]!)
  const findings = ways.slice(1).map(({ name, floor }, index): Finding => {
    const samples = rates[index + 1]!
    return {
      what: `produce while ${name}, on 100 partitions each`,
      value: median(samples),
      unit: 'MB/s',
      ratio: median(samples) / alone,
      ratioOf: `while no fetch waits (${alone.toFixed(0)} MB/s)`,
      ...floor,
      samples,
      baseSamples: rates[0]!,
    }
  })
  const costs = ways.map(({ name }, index): Finding => {
    const samples = loads[index]!.map(({ cpuMsPer100MB }) => cpuMsPer100MB)
    return { what: `CPU of the broker for 100 MB while ${name}`, value: median(samples), unit: 'ms', samples }
  })
  return [...findings, ...costs]
}

/** Starts bench/parked.ts. Resolves when all its fetches wait, with a function that ends it. */
async function park({ port }: Served, flags: readonly string[]): Promise<() => Promise<void>> {
  const where = Object.entries({ port, ...PARKED }).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(process.execPath, [join(here, 'parked.ts'), ...where, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = new Promise<void>(resolve => child.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve())
    child.once('close', status => reject(new Error(`the waiting consumers ended with status ${status}`)))
  })
  return async () => {
    child.kill('SIGKILL')
    await gone
  }
}

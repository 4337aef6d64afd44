// The schema registry with 10,000 subjects of three versions: the start and the memory of a broker on the embedded
// store, beside one that has no schemas. Both do the same: they start, list all subjects, and answer 30,000 look-ups by
// id, of schemas where there are any.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/base/clock.ts'
import { seededRandom } from '../src/base/random.ts'
import { aFewInSharedTurns } from '../src/base/shared-turns.ts'
import { isRefusal } from '../src/registry/refusals.ts'
import { openRegistry } from '../src/registry/registry.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded-store.ts'
import type { BrokerProcess } from '../testing/process.ts'
import { toy, toyWork } from '../testing/toy-format.ts'
import { type Finding, type Harness, median, type Question } from './harness.ts'
import { anonymousMegabytes, sleepAwake } from './startup.ts'

const SUBJECTS = 10_000
const VERSIONS = 3
const FIELDS = 15
const AT_ONCE = 16
/** The time in milliseconds in which the timers of the start run, before the memory is read. */
const SETTLE_MS = 2_000

export const registryScale: Question = {
  name: 'registry-scale',
  asks: `what ${SUBJECTS} subjects of ${VERSIONS} versions cost: the start, and the memory after the start, after a list and after all look-ups`,
  async answer(harness) {
    const [full, empty] = [await folder(harness), await folder(harness)]
    await fill(full)
    const brokers = { full: await harness.broker({}, full), empty: await harness.broker({}, empty) }
    const starts: Record<keyof typeof brokers, number[]> = { full: [], empty: [] }
    for (let round = 0; round < harness.rounds; round++)
      for (const name of ['full', 'empty'] as const) {
        await brokers[name].kill('SIGTERM')
        await brokers[name].start()
        starts[name].push(brokers[name].startedInMs)
      }
    const memory = { full: await used(brokers.full, SUBJECTS), empty: await used(brokers.empty, 0) }
    const more: Finding[] = (['start', 'list', 'lookups'] as const).map(after => ({
      what: `memory after the ${after}`,
      value: memory.full[after] - memory.empty[after],
      unit: 'MB more',
      ceiling: 100,
      notes: `${memory.full[after].toFixed(0)} MB, without schemas ${memory.empty[after].toFixed(0)} MB`,
    }))
    const later = median(starts.full) - median(starts.empty)
    return [
      {
        what: 'start',
        value: later,
        unit: 'ms longer',
        ceiling: 1_000,
        samples: starts.full,
        baseSamples: starts.empty,
      },
      ...more,
    ]
  },
}

async function folder(harness: Harness): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'ketch-registry-'))
  harness.after(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Registers everything in this process, without threads and without a sync for each. */
async function fill(path: string): Promise<void> {
  const alive = setInterval(() => undefined, 1_000)
  const options = { fsync: 'interval', fsyncIntervalMs: 100, clock: systemClock, report: () => {} } as const
  const store = await openEmbeddedStore({ path, ...options })
  const unsynced = {
    ...store,
    commit: (commit: Parameters<typeof store.commit>[0]) => store.commit({ ...commit, isSynced: false }),
  }
  const rooms = { store: unsynced, clock: systemClock, random: seededRandom(1), isShared: false, work: toyWork() }
  const registry = openRegistry(rooms)
  const numbers = Array.from({ length: SUBJECTS }, (_, number) => number)
  await aFewInSharedTurns(systemClock, AT_ONCE)(numbers, async number => {
    for (let version = 0; version < VERSIONS; version++) {
      const fields = Array.from({ length: FIELDS + version }, (_, at) => [`field_${number}_${at}`, 'string?'])
      const schema = toy(`com.example.Record${number}`, Object.fromEntries(fields))
      const answer = await registry.register(`topic-number-${number}-value`, { schema })
      if (isRefusal(answer)) throw new Error(answer.message)
    }
  })
  await registry.close()
  await store.close()
  clearInterval(alive)
}

/** Resolves with the resident anonymous memory in MB after each step. */
async function used(broker: BrokerProcess, subjects: number) {
  const ask = async (path: string) => await (await fetch(`${broker.url}/schema-registry${path}`)).json()
  await sleepAwake(SETTLE_MS)
  const start = await anonymousMegabytes(broker.pid)
  const { length } = (await ask('/subjects')) as readonly unknown[]
  if (length !== subjects) throw new Error(`the list has ${length} subjects and not ${subjects}`)
  await sleepAwake(SETTLE_MS)
  const list = await anonymousMegabytes(broker.pid)
  const ids = Array.from({ length: SUBJECTS * VERSIONS }, (_, at) => at + 1)
  await aFewInSharedTurns(systemClock, AT_ONCE)(ids, id => ask(`/schemas/ids/${id}`))
  await sleepAwake(SETTLE_MS)
  return { start, list, lookups: await anonymousMegabytes(broker.pid) }
}

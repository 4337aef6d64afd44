// Fills a broker that has a remote tier: a topic whose oldest segments only the remote tier has, one whose offload
// fails, and one whose segments wait. The rounds of the storage worker are started by hand, so that each seals the
// records before it.

import assert from 'node:assert/strict'
import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '../../testing/eventually.ts'
import type { Wire } from '../../testing/wire.ts'
import { produceAs } from './seeded.ts'
import { FULL_FILE_BYTES, must, type TieredWorld } from './world.ts'

/** The names of what is there. */
export const TIERED = Object.freeze({
  /** Two segments are in the table alone, and the active one is local. */
  archived: 'archive',
  /** Its data files cannot be written. */
  stuck: 'stuck',
  /** Its segments are smaller than a file, and wait for their neighbours. */
  waiting: 'waiting',
})

export const RECORDS = 20
/** Each round seals all that was appended before it. */
const SEALING = { 'remote.storage.enable': 'true', 'segment.ms': '1', 'retention.ms': '-1' }

/** Produces records that are more than a file has, or much less. A topic takes none before its table was looked for. */
export async function fill(wire: Wire, topic: string, isLarge: boolean): Promise<void> {
  const value = 'v'.repeat(isLarge ? FULL_FILE_BYTES / 10 : 1)
  const records = Array.from({ length: RECORDS }, (_, at) => ({ key: `key ${at}`, value }))
  await eventually('the topic takes records', () =>
    produceAs(wire, topic, 0, records).then(
      () => true,
      () => false,
    ),
  )
}

interface Answer {
  readonly counts: Readonly<Record<string, number>>
}

/** Runs rounds of the storage worker until as many jobs as these have their status. */
export async function runUntil({ admin }: TieredWorld, wanted: Readonly<Record<string, number>>): Promise<void> {
  await eventually(`the jobs are ${JSON.stringify(wanted)}`, async () => {
    await admin.ask('POST', '/api/v1/storage/worker/run')
    const { counts }: Answer = await must(admin, 'GET', '/api/v1/storage/offload-jobs?limit=1')
    return Object.entries(wanted).every(([status, jobs]) => counts[status] === jobs)
  })
}

/** Returns the folder of the data files that the table of the topic would have. */
async function dataOf({ admin, tables }: TieredWorld, topic: string): Promise<string> {
  const { id } = await must(admin, 'GET', `/api/v1/topics/${topic}`)
  return join(tables, 'default', `${topic}-${id}`, 'data')
}

/** Makes a topic with one segment whose offload has failed: a file is in the place of its data. */
export async function makeStuck(world: TieredWorld, wire: Wire, topic: string = TIERED.stuck): Promise<void> {
  await must(world.admin, 'POST', '/api/v1/topics', { name: topic, partitions: 1, configs: SEALING })
  const place = await dataOf(world, topic)
  await mkdir(join(place, '..'), { recursive: true })
  await writeFile(place, 'in the way')
  await fill(wire, topic, true)
}

/** Lets the next attempt of the topic succeed. */
export async function free(world: TieredWorld, topic: string = TIERED.stuck): Promise<void> {
  await rm(await dataOf(world, topic))
}

/** Makes a topic with one segment that waits. */
export async function makeWaiting({ admin }: TieredWorld, wire: Wire, topic: string = TIERED.waiting): Promise<void> {
  await must(admin, 'POST', '/api/v1/topics', { name: topic, partitions: 1, configs: SEALING })
  await fill(wire, topic, false)
}

const MARK = 'the mark of a record that is damaged'

/** Makes a topic on the embedded store, of whose sealed segment the second batch has a flipped bit. */
export async function makeDamaged({ admin, dir }: TieredWorld, wire: Wire, topic: string): Promise<void> {
  await must(admin, 'POST', '/api/v1/topics', { name: topic, partitions: 1, configs: SEALING })
  await fill(wire, topic, true)
  await produceAs(wire, topic, 0, [{ key: 'key', value: MARK }])
  for (const name of await readdir(dir)) {
    if (!name.startsWith('journal-')) continue
    const at = (await readFile(join(dir, name))).indexOf(MARK)
    if (at < 0) continue
    const journal = await open(join(dir, name), 'r+')
    await journal.write('T', at)
    await journal.close()
    return
  }
  assert.fail('no journal has the record')
}

/** Fills the broker. The names are those of TIERED. */
export async function seedTier(world: TieredWorld): Promise<void> {
  const { admin, connect } = world
  const wire = await connect()
  const configs = { ...SEALING, 'local.retention.ms': '1' }
  await must(admin, 'POST', '/api/v1/topics', { name: TIERED.archived, partitions: 1, configs })
  await fill(wire, TIERED.archived, true)
  await runUntil(world, { done: 1 })
  await fill(wire, TIERED.archived, true)
  await makeStuck(world, wire)
  await makeWaiting(world, wire)
  await runUntil(world, { done: 2, failed: 1, pending: 1 })
}

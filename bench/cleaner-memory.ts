// Measures the memory that a broker takes to clean ten million keys with the default map, and the room that a log
// takes whose keys were written twenty times: its live bytes, its part of the journal, and the memory of Redis.

import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrokerProcess } from '../testing/process.ts'
import { noRedis, startRedis } from '../testing/redis.ts'
import { type Finding, type Harness, type Question, residentOf } from './harness.ts'
import { allowCleaning, bytesOf, COMPACTED, fill, ON_REQUEST, runRound } from './keyed.ts'
import { type Keyed, keyedBatches } from './keyed-batches.ts'
import { startBrokers } from './redis-brokers.ts'
import { sleepAwake } from './startup.ts'

const TOPIC = 'cleaned'
/** KETCH_CLEANER_SHARE makes a shorter run with a share of the keys. */
const SHARE = Number(process.env.KETCH_CLEANER_SHARE ?? '1')
const MANY_KEYS = Math.round(10_000_000 * SHARE)
const KEYS = Math.round(1_000_000 * SHARE)
const TURNS = 20
/** A round after each five turns, so that the Redis does not need memory for all twenty. */
const TURNS_PER_ROUND = 5
/**
 * Small files, so that the room of two of them does not hide the rest. A shorter run has smaller ones: whatever it
 * has, the store keeps the active file, the next one and two spares, and they must not be most of its room.
 */
const FILE_BYTES = Math.max(2 ** 20, Math.round(16 * SHARE) * 2 ** 20)
const SMALL_FILES = { 'svc.storage.local.embedded.journal-file-bytes': String(FILE_BYTES) }
/** The most bytes of the journal, without two files, for each byte of the newest records. */
const ROOM = 2.5
const DATA: Pick<Keyed, 'order' | 'valueBytes' | 'recordsPerBatch' | 'codec'> = {
  order: 'turns',
  valueBytes: 20,
  recordsPerBatch: 200,
  codec: 'none',
}

export const cleanerMemory: Question = {
  name: 'cleaner-memory',
  asks: `resident memory while ${MANY_KEYS} keys are cleaned with a map of 64 MB; the room of ${KEYS} keys that were written ${TURNS} times`,
  async answer(harness) {
    const findings = [await measureMemory(harness)]
    findings.push(...(await measureFolder(harness)))
    if (noRedis === false) findings.push(...(await measureRedis(harness)))
    return findings
  },
}

async function measureMemory(harness: Harness): Promise<Finding> {
  const broker = await harness.broker(ON_REQUEST)
  await harness.topic(broker.port, TOPIC, 1, COMPACTED)
  await fill(broker.port, TOPIC, keyedBatches({ ...DATA, records: MANY_KEYS, keys: MANY_KEYS }))
  // Without the caches of the appends. A round opens what a broker needs in any case.
  await broker.kill('SIGTERM')
  await broker.start()
  await runRound(broker.url)
  await allowCleaning(broker.port, TOPIC)
  await sleepAwake(2_000)
  const before = residentOf(broker.pid)
  let most = before
  const looks = setInterval(() => {
    most = Math.max(most, residentOf(broker.pid))
  }, 50)
  const round = await runRound(broker.url)
  clearInterval(looks)
  if (round.brokers[0]!.cleaned !== 1) throw new Error(`nothing was cleaned: ${JSON.stringify(round)}`)
  await broker.kill('SIGKILL')
  return {
    what: 'growth of the resident memory while the keys are cleaned',
    value: (most - before) / 1e6,
    unit: 'MB',
    ceiling: 200,
    notes: `from ${(before / 1e6).toFixed(0)} MB; the round took ${(round.tookMs! / 1000).toFixed(0)} s`,
  }
}

/** Writes the keys turn by turn. Resolves with the bytes of the newest record of each key, as they were produced. */
async function writeTurns(harness: Harness, broker: BrokerProcess): Promise<number> {
  await harness.topic(broker.port, TOPIC, 1, { ...COMPACTED, 'min.cleanable.dirty.ratio': '0' })
  const batches = [...keyedBatches({ ...DATA, records: KEYS, keys: KEYS })]
  for (let turn = 1; turn <= TURNS; turn++) {
    await fill(broker.port, TOPIC, batches)
    if (turn % TURNS_PER_ROUND === 0) await runRound(broker.url)
  }
  return batches.reduce((sum, { length }) => sum + length, 0)
}

async function measureFolder(harness: Harness): Promise<Finding[]> {
  const broker = await harness.broker({ ...ON_REQUEST, ...SMALL_FILES })
  const newest = await writeTurns(harness, broker)
  const bytes = await bytesOf(broker.port, TOPIC)
  // The journal frees files with its next checkpoints.
  let onDisk = await journalBytes(broker.folder)
  for (let i = 0; i < 60 && onDisk - 2 * FILE_BYTES > ROOM * newest; i++) {
    await sleepAwake(1_000)
    onDisk = await journalBytes(broker.folder)
  }
  await broker.kill('SIGKILL')
  return [
    room('the embedded store, live bytes', bytes, newest, 1.2),
    room('the journal without two files', Math.max(0, onDisk - 2 * FILE_BYTES), newest, ROOM),
  ]
}

async function measureRedis(harness: Harness): Promise<Finding[]> {
  const redis = await startRedis(harness)
  const [broker] = (await startBrokers(harness, redis, 1, ON_REQUEST)) as [BrokerProcess]
  const empty = Number(await redis.info('used_memory'))
  const newest = await writeTurns(harness, broker)
  const bytes = await bytesOf(broker.port, TOPIC)
  const used = Number(await redis.info('used_memory')) - empty
  await broker.kill('SIGKILL')
  return [room('Redis, live bytes', bytes, newest, 1.2), room('memory of Redis', used, newest, 1.5)]
}

function room(what: string, bytes: number, newest: number, ceiling: number): Finding {
  const ratioOf = `the newest records (${(newest / 1e6).toFixed(0)} MB)`
  return { what, value: bytes / 1e6, unit: 'MB', ratio: bytes / newest, ratioOf, ceiling }
}

/** Resolves with the bytes of the journal's files, with those that wait to be used again. */
async function journalBytes(folder: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(folder)) {
    if (!/^(journal|spare)-/.test(name)) continue
    // Files come and go meanwhile. A file counts as what it takes on the disk.
    const found = await stat(join(folder, name)).catch(() => null)
    bytes += (found?.blocks ?? 0) * 512
  }
  return bytes
}

// Runs the cleaner at once, in tests: on partitions of the log room, and on a broker in the test's own process. The
// broker's rooms come from a route of the test's own.

import assert from 'node:assert/strict'
import { type HttpRooms, reply, route } from '../src/http/route.ts'
import type { Cleaner, CleanReport } from '../src/log/cleaner/cleaner.ts'
import type { Partition } from '../src/log/partition.ts'
import type { RoundReport } from '../src/log/round.ts'
import type { Values } from '../src/settings/settings.ts'
import { type CleanUp, startBroker, type TestBroker, type TestBrokerOptions } from './broker.ts'

/** Seals everything that is in the log, as a roll of the active segment does, and cleans it. */
export function cleanAll(cleaner: Cleaner, partition: Partition, nowMs: number | (() => number)): Promise<CleanReport> {
  const { state } = partition
  const mark = state.timeIndex.seal(0)
  if (mark !== null) state.pendingRows.push(mark)
  const upTo = Math.min(partition.highWatermark, state.timeIndex.chunks.at(-1)!.from)
  return cleaner.clean(partition, typeof nowMs === 'number' ? () => nowMs : nowMs, { upTo })
}

export interface CleaningBroker extends TestBroker {
  /** Cleans all partitions of a topic that the broker leads, as if it were `laterMs` later. */
  clean(topic: string, laterMs?: number): Promise<readonly CleanReport[]>
  /** Runs a round of the storage worker over all partitions, or joins the one in progress. */
  round(): Promise<RoundReport>
}

/** Starts a broker whose topics the test can have cleaned at once. Its HTTP side serves nothing else. */
export async function startCleaningBroker(
  cleanUp: CleanUp,
  overrides: Partial<Values> = {},
  options: Omit<TestBrokerOptions, 'http'> = {},
): Promise<CleaningBroker> {
  let rooms: HttpRooms | null = null
  const hold = route({
    method: 'POST',
    path: '/api/v1/rooms',
    verb: 'hold rooms',
    tag: 'tests',
    doc: 'Hands the rooms of the broker to the test.',
    needs: 'admin',
    answers: { 204: null },
    answer(_, held) {
      rooms = held
      return reply(204)
    },
  })
  // A busy disk may hold a write up for longer than the usual 5 seconds.
  const settings = { 'admin.security-enabled': false, 'broker.produce-timeout': 60_000, ...overrides }
  const broker = await startBroker(cleanUp, settings, { ...options, http: { routes: [hold] } })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${broker.url}/api/v1/rooms`, { method: 'POST', headers })
  assert.equal(answer.status, 204)
  return {
    ...broker,
    async clean(topic, laterMs = 0) {
      const { catalogue, logs, clock } = rooms!
      const { id, partitions } = catalogue.current().topics.get(topic)!
      const reports: CleanReport[] = []
      for (let index = 0; index < partitions; index++) {
        const partition = logs.partition(id, index)
        if (partition !== null) reports.push(await cleanAll(logs.cleaner, partition, clock.now() + laterMs))
      }
      return reports
    },
    round: () => rooms!.logs.runRound({ concurrency: 8, isCleaningAllowed: true }),
  }
}

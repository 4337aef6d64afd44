// Runs the cleaner at once, in tests: on partitions of the log room, and on a broker through a route of the test's own.

import assert from 'node:assert/strict'
import { z } from 'zod'
import type { HttpOverrides } from '../src/broker.ts'
import { reply, route } from '../src/http/route.ts'
import type { Cleaner, CleanReport } from '../src/log/cleaner/cleaner.ts'
import type { Partition } from '../src/log/partition.ts'

/** Seals everything that is in the log, as a roll of the active segment does, and cleans it. */
export function cleanAll(cleaner: Cleaner, partition: Partition, nowMs: number): Promise<CleanReport> {
  const { state } = partition
  const mark = state.timeIndex.seal(0)
  if (mark !== null) state.pendingRows.push(mark)
  return cleaner.clean(partition, nowMs, Math.min(partition.highWatermark, state.timeIndex.chunks.at(-1)!.from))
}

/** The HTTP side of a broker whose topics `cleanTopic` cleans. It serves nothing else, and wants no sign-in. */
export const CLEANING: {
  readonly settings: { readonly 'admin.security-enabled': false }
  readonly http: HttpOverrides
} = {
  settings: { 'admin.security-enabled': false },
  http: {
    routes: [
      route({
        method: 'POST',
        path: '/api/v1/clean/:topic',
        verb: 'clean topic',
        tag: 'tests',
        doc: 'Cleans all partitions of a topic now.',
        needs: 'admin',
        params: z.object({ topic: z.string() }),
        body: z.object({ laterMs: z.number() }),
        answers: { 200: z.array(z.record(z.string(), z.unknown())) },
        async answer({ params, body }, { catalogue, logs, clock }) {
          const { id, partitions } = catalogue.current().topics.get(params.topic)!
          const reports: Record<string, unknown>[] = []
          for (let index = 0; index < partitions; index++) {
            const partition = logs.partition(id, index)!
            reports.push({ ...(await cleanAll(logs.cleaner, partition, clock.now() + body.laterMs)) })
          }
          return reply(200, reports)
        },
      }),
    ],
  },
}

/** Cleans all partitions of a topic of a broker that was started with CLEANING, as if it were `laterMs` later. */
export async function cleanTopic(
  { url }: { readonly url: string },
  topic: string,
  laterMs = 0,
): Promise<readonly CleanReport[]> {
  const body = JSON.stringify({ laterMs })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/clean/${topic}`, { method: 'POST', body, headers })
  assert.equal(answer.status, 200, await answer.clone().text())
  return (await answer.json()) as readonly CleanReport[]
}

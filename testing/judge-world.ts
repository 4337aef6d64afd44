// The registry's judge on a store in memory, with the real formats, for tests of its rules. No log room and no threads,
// but for JSON Schema. testing/judge.ts is a judge for tests of the log room.

import { createHash } from 'node:crypto'
import { type Clock, systemClock } from '../src/base/clock.ts'
import { Judgings } from '../src/log/judging.ts'
import { isRefusal, type Refusal } from '../src/protocol/errors.ts'
import { type BatchOptions, encodeBatch, type NewRecord, viewBatch } from '../src/protocol/records.ts'
import type { SchemaType } from '../src/registry/format.ts'
import { formatOf } from '../src/registry/formats.ts'
import { openJudge, type RegistryJudge } from '../src/registry/judge/judge.ts'
import type { JudgedTopic } from '../src/registry/judge/shapes.ts'
import { framed, SCHEMA_ID_HEADERS } from '../src/registry/payload/framing.ts'
import type { Store } from '../src/store/store.ts'
import { createLogger } from '../src/telemetry/logger.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import type { CleanUp } from './broker.ts'
import { accepted, type OpenedRegistry, openTestRegistry } from './registry-world.ts'
import { createMemoryStore, type MemoryStore } from './sim/memory-store.ts'
import { toyWork } from './toy-format.ts'

export interface JudgeWorldOptions {
  readonly clock?: Clock
  readonly store?: MemoryStore
  /** By default other brokers may write to the store. */
  readonly isShared?: boolean
  readonly isOnByDefault?: boolean
  readonly recordCpuMs?: number
  /** How long the callers of `judged` wait, 30 s by default. */
  readonly timeoutMs?: number
}

export interface JudgeWorld {
  readonly store: MemoryStore
  readonly registry: OpenedRegistry
  readonly judge: RegistryJudge
  /** The lines of the log. */
  readonly lines: readonly string[]
  /** Registers a schema, and resolves with its id and guid. */
  register(subject: string, schema: object | string, type?: SchemaType): Promise<{ id: number; guid: string }>
  /** Resolves with the verdict about a batch of these records; `free` if nothing of it is judged. */
  judged(topic: JudgedTopic, records: readonly NewRecord[], options?: BatchOptions): Promise<Refusal | null | 'free'>
  /** The same, as one line for each bad record: its index, the part and the rule. */
  broken(topic: JudgedTopic, records: readonly NewRecord[], options?: BatchOptions): Promise<readonly string[] | 'free'>
  /** The counted verdicts of the topic. */
  counts(topic: JudgedTopic): Promise<Readonly<Record<string, number>>>
}

export function openJudgeWorld(cleanUp: CleanUp, options: JudgeWorldOptions = {}): JudgeWorld {
  const { clock = systemClock, isShared = true, isOnByDefault = true, recordCpuMs = 200, timeoutMs = 30_000 } = options
  const store = options.store ?? createMemoryStore(clock)
  const registry = openTestRegistry(cleanUp, store as Store, { clock, isShared, work: toyWork(formatOf) })
  const metrics = createMetrics()
  const judge = openJudge({
    ...{ judged: registry.judged, clock, metrics, isAlone: !isShared, isOnByDefault, recordCpuMs },
  })
  cleanUp.after(() => judge.close())
  const lines: string[] = []
  const judgings = new Judgings(clock, createLogger({ clock, write: line => lines.push(line), format: 'plain' }))
  const place = judgings.place('t-0', 'T')
  const judged: JudgeWorld['judged'] = async (topic, records, batchOptions) => {
    const batch = viewBatch(encodeBatch(records, batchOptions))
    const one = judge.of(topic, batch)
    if (one === null) return 'free'
    const judging = judgings.start(one, batch, place, timeoutMs)
    if (judging === null) return null
    if (judging.verdict !== undefined) return judging.verdict
    await new Promise<void>(resolve => {
      judging.decided = resolve
    })
    return judging.verdict!
  }
  return {
    ...{ store, registry, judge, lines, judged },
    async register(subject, schema, type = 'AVRO') {
      const text = typeof schema === 'string' ? schema : JSON.stringify(schema)
      const { id, guid } = accepted(await registry.register(subject, { schema: text, type }))
      return { id, guid }
    },
    async broken(topic, records, batchOptions) {
      const verdict = await judged(topic, records, batchOptions)
      if (verdict === 'free') return 'free'
      if (verdict === null) return []
      if (!isRefusal(verdict) || verdict.recordErrors === undefined) return [`${verdict.name} ${verdict.message}`]
      return verdict.recordErrors.map(({ batchIndex, batchIndexErrorMessage }) => {
        const [, part, reason] = /^The (key|value) breaks the rule ([a-z-]+): /.exec(batchIndexErrorMessage!)!
        return `${batchIndex} ${part} ${reason}`
      })
    },
    async counts({ name }) {
      const counts: Record<string, number> = {}
      for (const line of (await metrics.scrape()).split('\n')) {
        const found = /^svc_schema_registry_verdicts_total\{topic="(.*)",reason="(.*)"\} (.*)$/.exec(line)
        if (found?.[1] === name) counts[found[2]!] = Number(found[3])
      }
      return counts
    },
  }
}

/** A topic as the judge knows it; the configs by default are those of a new topic. */
export function judgedTopic(name: string, configs: Partial<JudgedTopic['resolved']> = {}): JudgedTopic {
  return {
    id: createHash('sha256').update(name).digest('base64url').slice(0, 22),
    name,
    resolved: {
      confluentKeySchemaValidation: null,
      confluentKeySubjectNameStrategy: 'TopicName',
      confluentValueSchemaValidation: null,
      confluentValueSubjectNameStrategy: 'TopicName',
      schemaValidationAction: 'reject',
      ...configs,
    },
  }
}

/** How a producer tells the schema of a value. */
export type WayToName = 'prefix' | 'header-id' | 'header-guid'

/** Returns a record whose value names its schema in one of the ways. */
export function named(by: WayToName, { id, guid }: { id: number; guid: string }, body: Uint8Array): NewRecord {
  if (by === 'prefix') return { value: framed(id, body) }
  const header =
    by === 'header-id' ? framed(id) : Buffer.concat([Buffer.from([1]), Buffer.from(guid.replaceAll('-', ''), 'hex')])
  return { value: body, headers: [{ key: SCHEMA_ID_HEADERS.value, value: header }] }
}

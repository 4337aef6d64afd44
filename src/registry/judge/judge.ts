// The registry's judge of produced records: keys and values whose subject has a live version must name a schema of that
// subject and be valid (docs/decisions/0071; the text of schema-registry.validate-produce). broker.ts
// gives it to the log room, which asks it about each batch.

import { availableParallelism } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import type { BatchView } from '../../protocol/records.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { JsonValidators } from '../json/json-validators.ts'
import type { JudgedSubjects } from '../judged-subjects.ts'
import { JsonRoom } from './json-room.ts'
import { JudgedBatch } from './judged-batch.ts'
import { Knowledge } from './knowledge.ts'
import { type PartRule, type Rule, Rules } from './rules.ts'
import type { BatchJudge, JudgedTopic } from './shapes.ts'

export type { PartRule } from './rules.ts'

export interface JudgeOptions {
  readonly judged: JudgedSubjects
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'child'>
  /** False if other brokers write to the store too. */
  readonly isAlone: boolean
  /** The setting validate-produce. */
  readonly isOnByDefault: boolean
  /** The setting validate-timeout: the processor time that one JSON payload may take. */
  readonly recordCpuMs: number
}

export interface RegistryJudge {
  /** Returns the judge of a batch; null if nothing of it is judged. For the log room (log/judge.ts). */
  of(topic: JudgedTopic, batch: BatchView): BatchJudge | null
  /** Returns how the keys and values of a topic are judged. */
  judged(topic: JudgedTopic): { readonly key: PartRule; readonly value: PartRule }
  /** Ends the threads. */
  close(): Promise<void>
}

/** The most threads for JSON payloads. */
const MOST_THREADS = 4

export function openJudge({
  judged,
  clock,
  metrics,
  isAlone,
  isOnByDefault,
  recordCpuMs,
}: JudgeOptions): RegistryJudge {
  const most = Math.max(2, Math.min(MOST_THREADS, availableParallelism()))
  const validators = new JsonValidators({ clock, most, recordCpuMs })
  const rooms = { knowledge: new Knowledge(judged, clock, isAlone), json: new JsonRoom(validators, clock), clock }
  const rules = new Rules(isOnByDefault, metrics)
  return {
    of(topic, batch) {
      const found = rules.of(topic)
      const key = isJudged(judged, found.key)
      const value = isJudged(judged, found.value)
      if ((!key && !value) || batch.isControl) return null
      return new JudgedBatch(rooms, found, { key, value }, batch.recordCount)
    },
    judged: topic => rules.of(topic).rows,
    close: () => validators.close(),
  }
}

/** False if the part has no subject with a live version, as far as this broker knows. */
function isJudged(judged: JudgedSubjects, rule: Rule | null): boolean {
  if (rule === null) return false
  if (rule.subject === null || rule.isRequired) return true
  try {
    const subject = judged.now(rule.subject)
    return subject === undefined || subject.latest !== null
  } catch {
    // A document that cannot be read. The look meets it too, and the batch is refused with its sentence.
    return true
  }
}

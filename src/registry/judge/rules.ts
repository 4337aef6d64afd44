// Which parts of a topic's records are judged, and how: the configs of the topic and the setting validate-produce.

import type { Metrics } from '../../telemetry/metrics.ts'
import type { Part } from '../payload/framing.ts'
import { type SubjectStrategy, subjectOf } from '../payload/subjects.ts'
import type { JudgedTopic } from './shapes.ts'

/** How the keys or the values of a topic are judged, for people. */
export interface PartRule {
  /** `off`: never. Otherwise they are judged once their subject has a live version, and with `isRequired` always. */
  readonly action: 'reject' | 'count' | 'off'
  /** Records whose subject has no live version are refused too. */
  readonly isRequired: boolean
  readonly strategy: SubjectStrategy
  /** Null if each record names it. */
  readonly subject: string | null
  /** The records that broke a rule with their key or value, since this broker started. */
  readonly refused: number
}

/** The same, for the judge. */
export interface Rule {
  readonly part: Part
  readonly topic: string
  readonly strategy: SubjectStrategy
  readonly subject: string | null
  readonly isRequired: boolean
  readonly tally: Tally
}

/** Counts the records of a part that broke a rule. */
export interface Tally {
  refused: number
}

export interface TopicRules {
  readonly topic: string
  readonly isCounting: boolean
  /** Null: never judged. */
  readonly key: Rule | null
  readonly value: Rule | null
  readonly rows: { readonly key: PartRule; readonly value: PartRule }
  count(reason: string, records: number): void
  /** Notes a refused batch. Returns how long its answer has to wait, in ms. */
  refuse(nowMs: number): number
}

/**
 * The refused batches of a topic are answered at most once in SLOT_MS, after a burst of BURST_MS, and none waits for
 * longer than LONGEST_WAIT_MS. A client that sends bad batches as fast as it can would take the processor from other
 * topics, however many requests it has in flight.
 */
const SLOT_MS = 10
const BURST_MS = 1_000
const LONGEST_WAIT_MS = 1_000

/** The topics of which refused records are counted; the oldest are forgotten beyond that. */
const MOST_TALLIES = 20_000

export class Rules {
  readonly #isOnByDefault: boolean
  readonly #metrics: Pick<Metrics, 'child'>
  readonly #made = new WeakMap<JudgedTopic, TopicRules>()
  /** By the id of the topic: they outlive a change of its configs. */
  readonly #tallies = new Map<string, { readonly key: Tally; readonly value: Tally }>()

  /** `isOnByDefault`: the setting validate-produce. */
  constructor(isOnByDefault: boolean, metrics: Pick<Metrics, 'child'>) {
    this.#isOnByDefault = isOnByDefault
    this.#metrics = metrics
  }

  of(topic: JudgedTopic): TopicRules {
    const made = this.#made.get(topic)
    if (made !== undefined) return made
    const rules = this.#make(topic)
    this.#made.set(topic, rules)
    return rules
  }

  #make({ id, name, resolved }: JudgedTopic): TopicRules {
    const tallies = this.#talliesOf(id)
    const action = resolved.schemaValidationAction
    const partOf = (part: Part, isValidated: boolean | null, strategy: SubjectStrategy) => {
      const subject = strategy === 'TopicName' ? subjectOf(strategy, name, part, null) : null
      const tally = tallies[part]
      const isOn = isValidated ?? this.#isOnByDefault
      const isRequired = isValidated === true
      const rule: Rule | null = isOn ? { part, topic: name, strategy, subject, isRequired, tally } : null
      const row: PartRule = {
        ...{ action: isOn ? action : 'off', isRequired, strategy, subject },
        get refused() {
          return tally.refused
        },
      }
      return { rule, row }
    }
    const key = partOf('key', resolved.confluentKeySchemaValidation, resolved.confluentKeySubjectNameStrategy)
    const value = partOf('value', resolved.confluentValueSchemaValidation, resolved.confluentValueSubjectNameStrategy)
    /** The slot of the next refused batch. */
    let slotAtMs = Number.NEGATIVE_INFINITY
    const children = new Map<string, { inc(by: number): void }>()
    return {
      topic: name,
      isCounting: action === 'count',
      key: key.rule,
      value: value.rule,
      rows: { key: key.row, value: value.row },
      count: (reason, records) => {
        const child =
          children.get(reason) ?? this.#metrics.child('svc.schema_registry.verdicts', { topic: name, reason })
        children.set(reason, child)
        child.inc(records)
      },
      refuse(nowMs) {
        const atMs = Math.max(slotAtMs, nowMs - BURST_MS)
        slotAtMs = Math.min(atMs + SLOT_MS, nowMs + LONGEST_WAIT_MS)
        return Math.max(0, atMs - nowMs)
      },
    }
  }

  #talliesOf(id: string): { readonly key: Tally; readonly value: Tally } {
    const known = this.#tallies.get(id)
    if (known !== undefined) return known
    const made = { key: { refused: 0 }, value: { refused: 0 } }
    this.#tallies.set(id, made)
    for (const oldest of this.#tallies.keys()) {
      if (this.#tallies.size <= MOST_TALLIES) break
      this.#tallies.delete(oldest)
    }
    return made
  }
}

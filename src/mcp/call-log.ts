// Writes down each call of an agent: one line of the audit log, the metrics, and the list of the last calls. None of
// them has contents of records, contents of schemas or the token: of the arguments only those that the tool names.

import type { AgentCall } from '../api/agent-tools.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { RecentCalls } from './recent-calls.ts'

/** The caller of a request. */
export interface AgentCaller {
  /** `mcp token`, or `anybody` if admin security is off. */
  readonly who: string
  /** The client's address. */
  readonly from: string
}

export interface NotedCall extends AgentCaller {
  /** The name of the tool, the resource or the prompt; null if the client named none that exists. */
  readonly name: string | null
  /** As the client sent it. */
  readonly asked: string
  readonly client: string | null
  /** The arguments that may be shown. */
  readonly what: object
  readonly outcome: string
  readonly bytes: number
  readonly tookMs: number
}

const MOST_TEXT = 300
const MOST_ASKED = 2_000
const MOST_CLIENT = 100
const MOST_LOOKED = 1_000

export interface CallLogRooms {
  /** The audit logger (admin/loggers.ts). */
  readonly auditLogger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
}

export class CallLog {
  readonly #rooms: CallLogRooms
  readonly #recent = new RecentCalls()

  constructor(rooms: CallLogRooms) {
    this.#rooms = rooms
  }

  note({ name, asked, client, who, from, what, outcome, bytes, tookMs }: NotedCall): void {
    const { auditLogger, metrics, clock } = this.#rooms
    const shown = shortened(what)
    const tool = name ?? 'unknown'
    const ms = Math.round(tookMs)
    auditLogger.info(`mcp ${name ?? visible(asked)}`, { who, client, from, what: shown, outcome, bytes, ms })
    metrics.count('svc.mcp.calls', { tool, result: outcome })
    metrics.observe('svc.mcp.duration', { tool }, tookMs)
    const calledAt = new Date(clock.now()).toISOString()
    this.#recent.add({ calledAt, name: name ?? visible(asked), client, from, what: shown, outcome, bytes, tookMs: ms })
  }

  recent(): AgentCall[] {
    return this.#recent.newestFirst()
  }
}

/** Returns the first 100 visible characters of a text that a client sent, on one line. */
export function visible(text: string): string {
  // A client may send a text of a megabyte, so only its beginning is looked at.
  const looked = text.slice(0, MOST_LOOKED)
  const plain = looked.replace(/[\p{C}\p{Z}]+/gu, ' ').trim()
  const characters = [...plain]
  const isCut = looked.length < text.length || characters.length > MOST_CLIENT
  return isCut ? `${characters.slice(0, MOST_CLIENT).join('')}…` : plain
}

/** Returns the arguments as JSON that has a line's length, however much the client sent. */
function shortened(what: object): string {
  const text = JSON.stringify(what, (_name, value: unknown) =>
    typeof value === 'string' && value.length > MOST_TEXT ? `${value.slice(0, MOST_TEXT)}…` : value,
  )
  return text.length <= MOST_ASKED ? text : `${text.slice(0, MOST_ASKED)}…`
}

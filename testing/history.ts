// Records the operations and observations of test clients: one operation per line of JSON, in the order in which they
// happened. testing/checker.ts judges them. The recorder does not interpret them and knows no protocol.
//
// Rules that matter more than this code:
// - Values are unique in the whole run.
// - A process has one operation open at a time. A client with several requests in flight is several processes.
// - If an operation ends as `info` (unknown), its process closes its client and continues under a new number.
// - `fail` means that the operation certainly had no effect. In doubt, use `info`.
// - Faults are operations too, for the timeline.

import { createWriteStream, type WriteStream } from 'node:fs'

/** The name of a partition, as `topic:0`. */
export type Key = string

/** A record that a poll returned: offset, value and, if the client knows it, the checksum of its batch. */
export type Seen = readonly [offset: number, value: number, crc?: number]

export type Micro =
  | readonly ['send', Key, number | readonly [offset: number | null, value: number]]
  | readonly ['poll']
  | readonly ['poll', Readonly<Record<Key, readonly Seen[]>>]
  | readonly ['commit', Readonly<Record<Key, number>>]
  | readonly ['committed']
  | readonly ['committed', Readonly<Record<Key, number | null>>]
  | readonly ['keys', readonly Key[]]
  | readonly ['fault', string]

export type Verb = 'send' | 'poll' | 'txn' | 'assign' | 'subscribe' | 'crash' | 'commit' | 'committed' | 'fault'

/** The facts of an operation other than its value. */
export interface Circumstances {
  /** The sends belong to an idempotent producer, so a duplicate is the broker's mistake. */
  readonly idempotent?: boolean
  readonly group?: string
  readonly generation?: number
  readonly error?: string
  /** Keys that were reassigned during a poll; their order inside this poll is not judged. */
  readonly rebalanced?: readonly Key[]
}

export interface Op extends Circumstances {
  readonly index: number
  /** Nanoseconds of the machine's monotonic clock, which all its processes share. */
  readonly time: number
  readonly process: number
  readonly node: string
  readonly type: 'invoke' | 'ok' | 'fail' | 'info'
  readonly f: Verb
  readonly value: readonly Micro[]
}

/** An operation that has begun. The caller must call exactly one of the three functions. */
export interface Begun {
  ok(value: readonly Micro[], circumstances?: Circumstances): void
  fail(error: string): void
  info(error: string): void
}

export interface History {
  readonly ops: readonly Op[]
  /** Returns a process number that was not used before. */
  process(): number
  /** Returns a value that was not sent before. */
  value(): number
  begin(process: number, f: Verb, value: readonly Micro[], circumstances?: Circumstances): Begun
  fault(description: string): void
  /**
   * Adds an operation of another program that uses the same clock (CLOCK_MONOTONIC) and a process number of its own.
   */
  include(op: Omit<Op, 'index' | 'node'>): void
  /** Resolves when the file contains every operation. */
  close(): Promise<void>
}

/**
 * Returns CLOCK_MONOTONIC in nanoseconds, which all processes of the machine share. Exact to 2^53 ns, 104 days of
 * uptime.
 */
function machineTimeNs(): number {
  return Number(process.hrtime.bigint())
}

/** Records in memory and, if `path` is given, also to this file. */
export function recordHistory(options: { path?: string; node?: string; nowNs?: () => number } = {}): History {
  const nowNs = options.nowNs ?? machineTimeNs
  const node = options.node ?? 'n1'
  const ops: Op[] = []
  const file: WriteStream | null = options.path === undefined ? null : createWriteStream(options.path)
  const broken = new Promise<never>((_, reject) => file?.on('error', reject))
  broken.catch(() => {})
  let processes = 0
  let values = 0

  const include = (timed: Omit<Op, 'index' | 'node'>) => {
    const op: Op = { index: ops.length, node, ...timed }
    ops.push(op)
    file?.write(`${JSON.stringify(op)}\n`)
  }
  const write = (process: number, type: Op['type'], f: Verb, value: readonly Micro[], more: Circumstances) =>
    include({ time: nowNs(), process, type, f, value, ...more })

  return {
    ops,
    process: () => processes++,
    value: () => values++,
    begin(process, f, value, circumstances = {}) {
      write(process, 'invoke', f, value, circumstances)
      return {
        ok: (result, more = {}) => write(process, 'ok', f, result, { ...circumstances, ...more }),
        fail: error => write(process, 'fail', f, value, { ...circumstances, error }),
        info: error => write(process, 'info', f, value, { ...circumstances, error }),
      }
    },
    include,
    fault: description => write(-1, 'info', 'fault', [['fault', description]], {}),
    async close() {
      if (file === null) return
      await Promise.race([broken, new Promise<void>(resolve => file.end(() => resolve()))])
    },
  }
}

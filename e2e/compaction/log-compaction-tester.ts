// Kafka's own LogCompactionTester (kafka-tools 4.2) against a broker whose cleaner is at work. The tool creates a
// compacted topic without other configs, so the segment size comes from a topic pattern. It writes each key many times,
// sleeps, reads the topic, and compares the last value of each key. It passes without a cleaner too; therefore the
// reduction that it prints counts.

import assert from 'node:assert/strict'
import { endWithUs } from '../../testing/end-with-us.ts'
import type { BrokerProcess } from '../../testing/process.ts'
import type { Codec } from '../client.ts'
import { startCommand } from '../command.ts'
import { JAVA_ARGUMENTS } from '../java/jars.ts'
import { cleanUntilIdle } from './cleaning-broker.ts'

/** A topic pattern for the topics of the tool, as settings. */
export const TESTER_SETTINGS: Readonly<Record<string, string>> = {
  'svc.topics[0].name': 'log-cleaner-test-*',
  'svc.topics[0].segment-bytes': '1MB',
}

/** The share of the records, in percent, that must be gone when the tool reads. */
export const LEAST_REDUCTION = 60

export interface TesterReport {
  readonly produced: number
  readonly consumed: number
  /** In percent, as the tool prints it. */
  readonly reduction: number
}

/**
 * Runs the tool to its end, with the options of Kafka's own system test: a key has ten records on average, and a tenth
 * of all records are tombstones. The tool is stopped in its sleep until the cleaner has nothing more to do. Rejects
 * with its output if a value is missing, wrong or too many.
 */
export async function runLogCompactionTester(
  broker: BrokerProcess,
  codec: Codec,
  messages: number,
): Promise<TesterReport> {
  const running = startCommand('java', [
    ...JAVA_ARGUMENTS,
    'org.apache.kafka.tools.LogCompactionTester',
    ...['--bootstrap-server', broker.address, '--compression-type', codec, '--messages', String(messages)],
    ...['--duplicates', '10', '--percent-deletes', '10', '--sleep', '5'],
  ])
  endWithUs(running.child)
  await running.line(line => line.startsWith('Sleeping for'))
  running.child.kill('SIGSTOP')
  try {
    await cleanUntilIdle(broker)
  } finally {
    running.child.kill('SIGCONT')
  }
  const text = (await running.done).toString()
  const rows = /^(\d+) rows of data produced, (\d+) rows of data consumed \(([\d.]+)% reduction\)\.$/m.exec(text)
  assert(rows !== null, `the tool has printed no reduction:\n${text}`)
  assert.match(text, /^Validated [1-9]\d* values, 0 mismatches\.$/m)
  assert.match(text, /^Data verification is completed$/m)
  const [produced, consumed, reduction] = rows.slice(1).map(Number)
  return { produced: produced!, consumed: consumed!, reduction: reduction! }
}

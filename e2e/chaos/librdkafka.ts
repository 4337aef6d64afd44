// An idempotent producer of librdkafka, in a Python process of its own. Its sends are recorded in the same history,
// because it reads the same monotonic clock of the machine. Each record is an operation of its own history process.

import { startPython } from '../python/client.ts'
import type { Run } from './run.ts'

/** Much higher than the values of all other producers. */
const FIRST_VALUE = 1_000_000_000

const LOOK_MS = 50

interface Delivered {
  readonly value: number
  readonly partition: number
  readonly begun: number
  readonly ended: number
  readonly offset?: number
  readonly error?: string
}

/** Sends until the run stops. Then it waits for the deliveries and adds its records to the history. */
export async function runLibrdkafkaProducer(run: Run, address: string): Promise<void> {
  const args = ['load', address, run.topic, String(run.partitions), String(FIRST_VALUE), 'enable.idempotence=true']
  const running = startPython('confluent.py', args)
  try {
    while (!run.stopping) await Promise.race([run.pause(LOOK_MS), running.done])
    running.child.stdin!.end()
    const output = await running.done
    for (const line of output.toString().trimEnd().split('\n')) include(run, JSON.parse(line))
  } finally {
    running.child.kill('SIGKILL')
  }
}

function include(run: Run, { value, partition, begun, ended, offset, error }: Delivered): void {
  const process = run.history.process()
  const key = run.key(partition)
  const op = { process, f: 'send', idempotent: true } as const
  run.history.include({ ...op, time: begun, type: 'invoke', value: [['send', key, value]] })
  if (offset === undefined) {
    run.history.include({
      ...op,
      time: ended,
      type: 'info',
      value: [['send', key, value]],
      error: error ?? 'no offset',
    })
    return
  }
  run.history.include({ ...op, time: ended, type: 'ok', value: [['send', key, [offset, value]]] })
  run.acknowledge(1)
}

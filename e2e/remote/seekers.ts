// Three client libraries that read a topic of the remote tier: as members of a group, and from one offset after the
// other. A record is compared by its digest, so that a test can print what it misses.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import kafkajs from 'kafkajs'
import type { DecodedRecord } from '../../src/protocol/records.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import { JAVA_ARGUMENTS } from '../java/jars.ts'
// Gives kafkajs the codecs that it lacks.
import '../kafkajs/client.ts'
import { PYTHON } from '../python/client.ts'

/** A record as `partition offset timestamp digest`. */
export type Line = string

export interface Seeker {
  readonly name: string
  /** Reads this many committed records as a member of the group, from where the group has come to, and commits them. */
  read(group: string, count: number): Promise<readonly Line[]>
  /** Reads the first record of a partition from the offset on. */
  seek(partition: number, offset: number): Promise<Line>
}

type Bytes = Uint8Array | null
type Header = readonly [name: string, value: Bytes]

function lineOf(
  partition: number,
  offset: number,
  timestamp: number,
  key: Bytes,
  value: Bytes,
  headers: readonly Header[],
) {
  const hash = createHash('sha1')
  const put = (bytes: Bytes) => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(bytes === null ? -1 : bytes.length)
    hash.update(length)
    if (bytes !== null) hash.update(bytes)
  }
  put(key)
  put(value)
  for (const [name, bytes] of headers) {
    put(Buffer.from(name))
    put(bytes)
  }
  return `${partition} ${offset} ${timestamp} ${hash.digest('hex')}`
}

/** Returns the line that each client must print for a record. */
export const expectedLine = (partition: number, { offset, timestamp, key, value, headers }: DecodedRecord): Line =>
  lineOf(
    partition,
    offset,
    timestamp,
    key,
    value,
    headers.map(header => [header.key, header.value] as const),
  )

/** Starts the programs of Java and of librdkafka, and a consumer of kafkajs. They end with the test. */
export function startSeekers(cleanUp: CleanUp, address: string, topic: string): readonly Seeker[] {
  const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  return [
    startProgram(cleanUp, 'Java', 'java', [...JAVA_ARGUMENTS, path('Seeker.java'), address, topic]),
    startProgram(cleanUp, 'librdkafka', PYTHON, [path('seeker.py'), address, topic]),
    openKafkaJs(cleanUp, address, topic),
  ]
}

function startProgram(cleanUp: CleanUp, name: string, command: string, args: readonly string[]): Seeker {
  const child = spawn(command, args)
  endWithUs(child)
  let complaints = ''
  child.stderr.on('data', chunk => (complaints += chunk))
  child.stdin.on('error', () => {})
  const closed = new Promise<string>(resolve => child.on('close', (status, signal) => resolve(`${signal ?? status}`)))
  cleanUp.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (line: string): Promise<Line[]> => {
    child.stdin.write(`${line}\n`)
    for (const lines: Line[] = []; ; ) {
      const { value, done } = await printed.next()
      if (done) throw new Error(`${name} ended with ${await closed} at ${line}: ${complaints}`)
      if (value === 'end') return lines
      lines.push(value)
    }
  }
  return {
    name,
    read: (group, count) => ask(`read ${group} ${count}`),
    seek: async (partition, offset) => (await ask(`seek ${partition} ${offset}`))[0]!,
  }
}

function openKafkaJs(cleanUp: CleanUp, address: string, topic: string): Seeker {
  const kafka = new kafkajs.Kafka({ clientId: 'seeker', brokers: [address], logLevel: kafkajs.logLevel.NOTHING })
  const shown = (partition: number, { offset, timestamp, key, value, headers = {} }: kafkajs.KafkaMessage) => {
    const pairs = Object.entries(headers).flatMap(([name, values]) =>
      [values].flat().map((each): Header => [name, each === undefined || each === null ? null : Buffer.from(each)]),
    )
    return lineOf(partition, Number(offset), Number(timestamp), key, value, pairs)
  }
  /** Runs a consumer of the group until `take` says that it has enough. */
  async function consume(
    groupId: string,
    take: (line: Line, message: kafkajs.KafkaMessage, partition: number) => boolean,
  ) {
    const consumer = kafka.consumer({ groupId, maxBytesPerPartition: 65_536, maxWaitTimeInMs: 200 })
    const enough = Promise.withResolvers<void>()
    consumer.on('consumer.crash', ({ payload }) => enough.reject(payload.error))
    await consumer.connect()
    await consumer.subscribe({ topic, fromBeginning: true })
    let isEnough = false
    const next = new Map<number, number>()
    await consumer.run({
      autoCommit: false,
      async eachBatch({ batch, isStale }) {
        if (isStale()) return
        for (const message of batch.messages) {
          if (isEnough) return
          next.set(batch.partition, Number(message.offset) + 1)
          isEnough = take(shown(batch.partition, message), message, batch.partition)
          if (isEnough) enough.resolve()
        }
      },
    })
    return { consumer, next, enough: enough.promise }
  }

  let seeking: ReturnType<typeof consume> | undefined
  let wanted: { partition: number; offset: number; resolve(line: Line): void } | undefined
  cleanUp.after(async () => {
    await (await seeking)?.consumer.disconnect()
  })
  return {
    name: 'kafkajs',
    async read(group, count) {
      const lines: Line[] = []
      const { consumer, next, enough } = await consume(group, line => lines.push(line) === count)
      await enough
      await consumer.commitOffsets(
        [...next].map(([partition, offset]) => ({ topic, partition, offset: String(offset) })),
      )
      await consumer.disconnect()
      return lines
    },
    async seek(partition, offset) {
      seeking ??= consume('seeker', (line, message, from) => {
        // A batch that was on its way at the time of the seek may still come.
        if (wanted?.partition === from && Number(message.offset) === wanted.offset) wanted.resolve(line)
        return false
      })
      const { consumer } = await seeking
      const { promise, resolve } = Promise.withResolvers<Line>()
      wanted = { partition, offset, resolve }
      consumer.seek({ topic, partition, offset: String(offset) })
      return promise
    },
  }
}

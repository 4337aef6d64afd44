// Runs Kafka's own measuring tools and returns the numbers that they print. Each tool runs in a Java process of its
// own with the flags of Kafka's scripts. No figure includes the start of the JVM. The tools measure any server that
// speaks the protocol.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { kafkaJars } from '../testing/apache-kafka.ts'
import { classPathOf } from '../testing/jars.ts'

const RECORD_BYTES = 1024

const JVM_FLAGS = [
  ...['-Xmx512M', '-server', '-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20', '-XX:InitiatingHeapOccupancyPercent=35'],
  // So that the tools print numbers with a decimal point.
  ...['-Duser.language=en', '-Djava.awt.headless=true', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn'],
]

/** The longest time of a tool in milliseconds. A tool that takes longer got no answer from its server. */
const LONGEST_RUN_MS = 300_000

async function runTool(name: string, args: readonly (string | number)[]): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)(
    'java',
    [...JVM_FLAGS, '-cp', classPathOf(kafkaJars), `org.apache.kafka.tools.${name}`, ...args.map(String)],
    { timeout: LONGEST_RUN_MS, maxBuffer: 64 * 2 ** 20 },
  )
  // The tool prints a refused record there and goes on.
  if (/Exception|ERROR/.test(stdout + stderr)) throw new Error(`${name} complained:\n${stdout}${stderr}`.slice(0, 4000))
  return stdout
}

function find(tool: string, pattern: RegExp, output: string): readonly number[] {
  const match = pattern.exec(output)
  if (match === null) throw new Error(`${tool} printed something else than ${pattern.source}:\n${output.slice(-2000)}`)
  return match.slice(1).map(Number)
}

/**
 * Runs kafka-producer-perf-test with acks=all, after `warmUp` records that do not count. 1 MB = 10^6 bytes of values.
 */
export async function measureProducer(
  address: string,
  options: {
    topic: string
    records: number
    warmUp: number
    recordsPerSecond?: number
    properties?: readonly string[]
  },
): Promise<{ megabytesPerSecond: number; p50Ms: number; p99Ms: number }> {
  const output = await runTool('ProducerPerformance', [
    ...['--bootstrap-server', address, '--topic', options.topic, '--record-size', RECORD_BYTES],
    ...['--num-records', options.warmUp + options.records, '--warmup-records', options.warmUp],
    ...[
      '--throughput',
      options.recordsPerSecond ?? -1,
      '--command-property',
      'acks=all',
      ...(options.properties ?? []),
    ],
  ])
  const line = /steady state records sent, ([\d.]+) records\/sec.* (\d+) ms 50th, .* (\d+) ms 99th,/
  const [perSecond, p50Ms, p99Ms] = find('kafka-producer-perf-test', line, output)
  return { megabytesPerSecond: (perSecond! * RECORD_BYTES) / 1e6, p50Ms: p50Ms!, p99Ms: p99Ms! }
}

/** Runs EndToEndLatency: one record after the other, acks=all, from its send to its arrival at a consumer. */
export async function measureEndToEnd(
  address: string,
  options: { topic: string; records: number },
): Promise<{ averageMs: number; p99Ms: number }> {
  const output = await runTool('EndToEndLatency', [address, options.topic, options.records, 'all', RECORD_BYTES])
  const [averageMs, p99Ms] = find('EndToEndLatency', /Avg latency: ([\d.]+) ms\n.*99th = (\d+)/, output)
  return { averageMs: averageMs!, p99Ms: p99Ms! }
}

/**
 * Runs kafka-consumer-perf-test from the beginning, without the time to join the group. 1 MB = 10^6 bytes of values.
 */
export async function measureConsumer(
  address: string,
  options: { topic: string; records: number },
): Promise<{ megabytesPerSecond: number }> {
  const output = await runTool('ConsumerPerformance', [
    ...['--bootstrap-server', address, '--topic', options.topic, '--num-records', options.records, '--hide-header'],
  ])
  // Start, end, MB, MB/s, records, records/s, ms to join, ms of fetching, MB/s of fetching (of 2^20), ...
  const [mebibytesPerSecond] = find('kafka-consumer-perf-test', /(?:[^,\n]+, ){8}([\d.]+), [\d.]+ *\n?$/, output)
  return { megabytesPerSecond: mebibytesPerSecond! * 1.048576 }
}

// Kafka's command-line tools. One JVM runs nearly all of them (Tools.java, which a JDK runs from its source).

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { CleanUp } from '../../testing/broker.ts'
import { hasProgram } from '../../testing/programs.ts'
import { fetchJars, JAVA_ARGUMENTS } from '../java/jars.ts'

const source = fileURLToPath(new URL('Tools.java', import.meta.url))

/** The main classes, by the names of Kafka's own scripts. */
const MAIN_CLASSES = {
  'kafka-acls': 'org.apache.kafka.tools.AclCommand',
  'kafka-broker-api-versions': 'org.apache.kafka.tools.BrokerApiVersionsCommand',
  'kafka-cluster': 'org.apache.kafka.tools.ClusterTool',
  'kafka-configs': 'kafka.admin.ConfigCommand',
  'kafka-console-consumer': 'org.apache.kafka.tools.consumer.ConsoleConsumer',
  'kafka-console-producer': 'org.apache.kafka.tools.ConsoleProducer',
  'kafka-consumer-groups': 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
  'kafka-consumer-perf-test': 'org.apache.kafka.tools.ConsumerPerformance',
  'kafka-delete-records': 'org.apache.kafka.tools.DeleteRecordsCommand',
  'kafka-e2e-latency': 'org.apache.kafka.tools.EndToEndLatency',
  'kafka-get-offsets': 'org.apache.kafka.tools.GetOffsetShell',
  'kafka-groups': 'org.apache.kafka.tools.GroupsCommand',
  'kafka-leader-election': 'org.apache.kafka.tools.LeaderElectionCommand',
  'kafka-log-dirs': 'org.apache.kafka.tools.LogDirsCommand',
  'kafka-metadata-quorum': 'org.apache.kafka.tools.MetadataQuorumCommand',
  'kafka-producer-perf-test': 'org.apache.kafka.tools.ProducerPerformance',
  'kafka-reassign-partitions': 'org.apache.kafka.tools.reassign.ReassignPartitionsCommand',
  'kafka-topics': 'org.apache.kafka.tools.TopicCommand',
  'kafka-transactions': 'org.apache.kafka.tools.TransactionsCommand',
  'kafka-verifiable-consumer': 'org.apache.kafka.tools.VerifiableConsumer',
  'kafka-verifiable-producer': 'org.apache.kafka.tools.VerifiableProducer',
} as const

export type Tool = keyof typeof MAIN_CLASSES

/** This tool prints important text when its process ends, so it needs its own process. */
const IN_A_PROCESS_OF_ITS_OWN: Tool = 'kafka-verifiable-producer'

export interface Printed {
  /** null if the tool had not ended at its time limit. */
  readonly status: number | null
  readonly out: string
  readonly err: string
}

export interface Tools {
  /** Runs a tool until it ends. Only one tool may run at a time. */
  run(tool: Tool, args: readonly string[], input?: string): Promise<Printed>
}

/** A slow machine needs more than half a minute for a million iterations of PBKDF2 in Java. */
const WITHIN_MS = 120_000

/** Returns the reason why the tools cannot run on this machine; null if they can. */
export function toolsAbsence(): string | null {
  if (!hasProgram('javac')) return 'SKIPPED e2e/tools: apt-get install default-jdk-headless maven'
  return fetchJars()
}

/** Starts the JVM of the tools. */
export function startTools(cleanUp: CleanUp): Tools {
  const child: ChildProcess = spawn('java', [...JAVA_ARGUMENTS, '-Dorg.slf4j.simpleLogger.defaultLogLevel=off', source])
  cleanUp.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  })
  let complaints = ''
  child.stderr!.on('data', chunk => (complaints += chunk))
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  return {
    async run(tool, args, input = '') {
      if (tool === IN_A_PROCESS_OF_ITS_OWN) {
        const java = [...JAVA_ARGUMENTS, MAIN_CLASSES[tool], ...args]
        const { status, stdout, stderr } = spawnSync('java', java, { input, encoding: 'utf8', timeout: WITHIN_MS })
        return { status, out: stdout, err: stderr }
      }
      child.stdin!.write(`${JSON.stringify({ main: MAIN_CLASSES[tool], args, input, withinMs: WITHIN_MS })}\n`)
      const { done, value } = await lines.next()
      if (done) throw new Error(`the JVM of the tools ended at ${tool} ${args.join(' ')}\n${complaints}`)
      return JSON.parse(value)
    },
  }
}

// Confluent's AvroSchema and Apache Avro, asked about pairs of schemas in one JVM.

import { fileURLToPath } from 'node:url'
import { classPathOf, fetchJars, type Jars } from '../../testing/jars.ts'
import { runCommand } from '../command.ts'
import { JAVA_FLAGS } from '../java/jars.ts'

/** One schema as Java sees it. */
export interface Seen {
  /** Whether Avro 1.12 accepts it with strict names and checked defaults, as Confluent's registry 8 does. */
  readonly strict: boolean
  readonly why?: string
  /** Absent if Confluent's AvroSchema cannot read it without checks. */
  readonly canonical?: string
  readonly unreadable?: string
  /** Absent if Confluent's code fails to normalize it. */
  readonly normalized?: string
  readonly abnormal?: string
}

export interface OracleAnswer {
  readonly reader: Seen
  readonly writer: Seen
  /** Absent unless both can be read. */
  readonly compatible?: boolean
  readonly reasons?: readonly { readonly type: string; readonly path: string }[]
  /** The error of a comparison that failed. */
  readonly failed?: string
}

/** The first jar holds Confluent's class with Avro 1.11; the second is the Avro that its registry uses today. */
const jars: Jars = {
  name: 'avro-oracle-flink-2.3.0-avro-1.12.2',
  artifacts: [
    'org.apache.flink:flink-sql-avro-confluent-registry:2.3.0',
    'org.apache.avro:avro:1.12.2',
    'org.slf4j:slf4j-simple:2.0.17',
  ],
}

const source = fileURLToPath(new URL('AvroOracle.java', import.meta.url))

/** Returns why the oracle cannot run here, or null. The first call fetches its jars. */
export const oracleAbsence = (): string | null => fetchJars(jars)

export async function askOracle(
  pairs: readonly { readonly reader: string; readonly writer: string }[],
): Promise<readonly OracleAnswer[]> {
  const input = pairs.map(pair => `${JSON.stringify(pair)}\n`).join('')
  const flags = [...JAVA_FLAGS, '-Dorg.slf4j.simpleLogger.defaultLogLevel=off', '-cp', classPathOf(jars)]
  const output = await runCommand('java', [...flags, source], { input })
  return output
    .toString('utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as OracleAnswer)
}

// Confluent's AvroSchema and Apache Avro, asked about pairs of schemas in one JVM.

import { fileURLToPath } from 'node:url'
import { classPathOf, fetchJars, type Jars } from '../../testing/jars.ts'
import { runCommand } from '../command.ts'
import { JAVA_FLAGS } from '../java/jars.ts'

/** One schema as Java sees it: a text where it accepts the schema, else why it refuses it. */
export interface Seen {
  /** Avro 1.12, with strict names and checked defaults, as Confluent's registry 8 reads new schemas. */
  readonly canonical12?: string
  readonly refused12?: string
  /** Confluent's AvroSchema with Avro 1.11, as it reads new schemas, and the text under `normalize`. */
  readonly canonical11?: string
  readonly normalized?: string
  readonly refused11?: string
  /** The same, as it reads stored schemas. */
  readonly stored?: string
  readonly refusedStored?: string
}

export interface OracleAnswer {
  readonly reader: Seen
  readonly writer: Seen
  /** Absent unless both can be read as stored. */
  readonly compatible?: boolean
  /** The reasons of Avro 1.12; absent if the comparison failed. */
  readonly reasons?: readonly { readonly type: string; readonly path: string }[]
  readonly failed?: string
}

const jars: Jars = {
  name: 'avro-oracle-flink-2.3.0-avro-1.12.2',
  artifacts: [
    // It holds Confluent's AvroSchema, with Avro 1.11 in a package of its own.
    'org.apache.flink:flink-sql-avro-confluent-registry:2.3.0',
    'org.apache.avro:avro:1.12.2',
    'org.slf4j:slf4j-simple:2.0.17',
  ],
}

const source = fileURLToPath(new URL('AvroOracle.java', import.meta.url))

/** Returns why the oracle cannot run here, or null. The first call fetches its jars. */
export function oracleAbsence(): string | null {
  const absence = fetchJars(jars)
  return absence === null ? null : `SKIPPED e2e/registry: ${absence}`
}

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

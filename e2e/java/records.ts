// Kafka's Java client (Records.java), in the versions in use, as clients of the matrix.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CACHE } from '../../testing/cache.ts'
import { classPathOf, fetchJars, type Jars } from '../../testing/jars.ts'
import { hasProgram } from '../../testing/programs.ts'
import { type Client, CODECS, type Received, type Sent } from '../client.ts'
import { type Running, runCommand, startCommand } from '../command.ts'
import { type ClientSecurity, NO_SECURITY } from '../security/security.ts'
import { JAVA_FLAGS } from './jars.ts'
import { securityFlags, withPropertiesFile } from './security.ts'

const source = fileURLToPath(new URL('Records.java', import.meta.url))

/** The place of the compiled program for a version of the client. Another source has another place. */
function classesOf(version: string): string {
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)
  return join(CACHE, 'java', `records-${version}-${hash}`)
}

/** Compiles the program once. From its source `java` would compile it at each run, which takes longer than the run. */
function compile(version: string): void {
  const classes = classesOf(version)
  if (existsSync(classes)) return
  const fresh = `${classes}.${process.pid}`
  const { status, stderr } = spawnSync('javac', ['-cp', classPathOf(jarsOf(version)), '-d', fresh, source], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`javac ended with ${status}: ${stderr}`)
  try {
    renameSync(fresh, classes)
  } catch (error) {
    rmSync(fresh, { recursive: true })
    // Another test may have compiled it in the meantime.
    if (!existsSync(classes)) throw error
  }
}

const jarsOf = (version: string): Jars => ({
  name: `kafka-clients-${version}-oauthbearer`,
  artifacts: [
    `org.apache.kafka:kafka-clients:${version}`,
    'org.slf4j:slf4j-simple:1.7.36',
    // OAUTHBEARER needs these, and kafka-clients does not depend on them.
    'com.fasterxml.jackson.core:jackson-databind:2.20.0',
    'org.bitbucket.b_c:jose4j:0.9.6',
  ],
})

/** Returns the arguments of a JVM that runs Records.java with the properties of the file. */
function argumentsOf(version: string, security: ClientSecurity, verb: string, file: string): readonly string[] {
  compile(version)
  const classPath = [classesOf(version), classPathOf(jarsOf(version))].join(delimiter)
  return [...JAVA_FLAGS, ...securityFlags(security), '-cp', classPath, 'Records', verb, file]
}

/** Runs `load` of Records.java until its input gets a byte. `use` gets the running program. */
export function withJavaLoad<T>(
  version: string,
  security: ClientSecurity,
  args: readonly [address: string, topic: string, partitions: number, perSecond: number],
  use: (running: Running) => Promise<T>,
): Promise<T> {
  return withPropertiesFile(security, file =>
    use(
      startCommand('java', [...argumentsOf(version, security, 'load', file), ...args.map(String)], { keepOpen: true }),
    ),
  )
}

function javaClient(version: string): Client {
  const run = ([verb, ...args]: readonly [string, ...string[]], security: ClientSecurity, input = '') =>
    withPropertiesFile(security, file =>
      runCommand('java', [...argumentsOf(version, security, verb, file), ...args], { input }),
    )
  return {
    name: `java-${version}`,
    from: 'Maven Central',
    version: () => version,
    absence: () => {
      if (!hasProgram('javac')) return 'SKIPPED e2e/java: apt-get install default-jdk-headless maven'
      const absence = fetchJars(jarsOf(version))
      return absence === null ? null : `SKIPPED e2e/java: ${absence}`
    },
    codecs: CODECS,
    cannotSend: null,
    lacks: {},
    refused: /SaslAuthenticationException/,
    async produce(address, topic, records, security = NO_SECURITY) {
      await run(['produce', address, topic], security, records.map(toLine).join(''))
      return records
    },
    async consume(address, topic, group, count, security = NO_SECURITY) {
      const output = await run(['consume', address, topic, group, String(count)], security)
      return output.toString().trimEnd().split('\n').map(fromLine)
    },
  }
}

const toText = (bytes: Buffer | null) => bytes?.toString('base64') ?? '-'
const toBytes = (text: string) => (text === '-' ? null : Buffer.from(text, 'base64'))

function toLine({ partition, timestamp, codec, key, value, headers }: Sent): string {
  const named = headers.map(header => `${toText(Buffer.from(header.name))} ${toText(header.value)}`)
  return `${[partition, timestamp, codec, toText(key), toText(value), ...named].join('\t')}\n`
}

function fromLine(line: string): Received {
  const [partition, timestamp, offset, key = '', value = '', ...headers] = line.split('\t')
  return {
    partition: Number(partition),
    offset: Number(offset),
    timestamp: Number(timestamp),
    key: toBytes(key),
    value: toBytes(value),
    headers: headers.map(header => {
      const [name = '', bytes = ''] = header.split(' ')
      return { name: String(toBytes(name)), value: toBytes(bytes) }
    }),
  }
}

/** The last release for brokers before 4.0, and the newest release. */
export const JAVA_VERSIONS = ['3.9.2', '4.4.0'] as const
export const javaClients: readonly Client[] = JAVA_VERSIONS.map(javaClient)

// Kafka's own tools and client as jars, fetched from Maven Central once. Nothing of them enters the product.

import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasProgram } from '../command.ts'

const jars = fileURLToPath(new URL('../../.cache/java', import.meta.url))
const pom = fileURLToPath(new URL('pom.xml', import.meta.url))

/** What every JVM of the tests is started with: the jars, and settings that suit short lives on small machines. */
export const JAVA_ARGUMENTS: readonly string[] = [
  ...['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dfile.encoding=UTF-8'],
  ...['-cp', join(jars, '*')],
]

/** Fetches the jars where they are missing; says why not where that fails. */
export function fetchJars(): string | null {
  if (!hasProgram('java')) return 'SKIPPED e2e/java: apt-get install default-jdk-headless maven'
  if (globSync(join(jars, 'kafka-tools-*.jar')).length > 0) return null
  if (!hasProgram('mvn')) return 'SKIPPED e2e/java: apt-get install maven'
  const args = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${jars}`]
  const { status, stdout, stderr } = spawnSync('mvn', args, { encoding: 'utf8', timeout: 300_000 })
  if (status === 0 && existsSync(jars)) return null
  const why = `${stdout}${stderr}`.split('\n').find(line => line.includes('ERROR')) ?? `status ${status}`
  return `SKIPPED e2e/java: Maven Central must be reachable for Kafka's tools (${why.slice(0, 200)})`
}

// The packages of the client libraries, with their versions, and where build.ts puts them.

import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CACHE } from '../../../testing/cache.ts'

export const PYTHON_VERSION = '2.16.0'
export const PYTHON_PACKAGE = `confluent-kafka[avro,json,protobuf]==${PYTHON_VERSION}`
export const PYTHON_FOLDER = join(CACHE, `registry-confluent-kafka-${PYTHON_VERSION}`)
export const pythonProgram = join(PYTHON_FOLDER, 'bin/python')

export const CONFLUENT_JS_VERSION = '1.10.1'
export const KAFKAJS_VERSION = '4.1.0'
export const NPM_PACKAGES = [
  `@confluentinc/schemaregistry@${CONFLUENT_JS_VERSION}`,
  `@kafkajs/confluent-schema-registry@${KAFKAJS_VERSION}`,
]
export const NPM_FOLDER = join(CACHE, `registry-npm-${CONFLUENT_JS_VERSION}-${KAFKAJS_VERSION}`)

export const GO_VERSION = '1.8.0'
/** The sources of the Go program. go.mod and go.sum hold its versions. */
export const GO_SOURCES = fileURLToPath(new URL('go', import.meta.url))
export const GO_PROGRAM = join(CACHE, `registry-franz-go-${GO_VERSION}`, digestOf(GO_SOURCES))

export const JAVA_VERSION = '7.9.5'
/** It holds Confluent's serializers of that version, Avro and Kafka's client, and needs no other jar. */
export const JAVA_ARTIFACT = 'org.apache.pinot:pinot-confluent-avro:1.5.0:jar:shaded'
export const JAVA_FOLDER = join(CACHE, 'java', 'pinot-confluent-avro-1.5.0')

/** Returns why the part is absent, or null. */
export function absenceOf(path: string): string | null {
  return existsSync(path) ? null : 'SKIPPED e2e/registry/clients: node scripts/run.mjs e2e/registry/clients/build.ts'
}

function digestOf(folder: string): string {
  const hash = createHash('sha256')
  for (const name of readdirSync(folder).sort()) hash.update(name).update(readFileSync(join(folder, name)))
  return hash.digest('hex').slice(0, 16)
}

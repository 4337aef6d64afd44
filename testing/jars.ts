// Fetches Java programs from Maven Central to run beside Ketch: Apache Kafka itself, its tools, its clients. The
// product contains none of them.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE } from './cache.ts'
import { hasProgram } from './programs.ts'

/** The list of artifacts that the folder's jars belong to. If the list differs, the jars are fetched again. */
const LIST = 'artifacts.txt'

/** A folder with the jars of some artifacts (`group:artifact:version`) and of their dependencies, which Maven finds. */
export interface Jars {
  readonly name: string
  readonly artifacts: readonly string[]
}

const folderOf = ({ name }: Jars) => join(CACHE, 'java', name)

/** Returns the argument of Java's `-cp`. */
export function classPathOf(jars: Jars): string {
  return join(folderOf(jars), '*')
}

/**
 * Fetches the jars once, through Maven. Returns why this is impossible and how to enable it, or null if the jars are
 * there.
 */
export function fetchJars(jars: Jars): string | null {
  const folder = folderOf(jars)
  const list = `${jars.artifacts.join('\n')}\n`
  if (existsSync(join(folder, LIST)) && readFileSync(join(folder, LIST), 'utf8') === list) return null
  if (!hasProgram('java')) return 'apt-get install default-jdk-headless maven'
  if (!hasProgram('mvn')) return 'apt-get install maven'
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  const pom = join(fresh, 'pom.xml')
  writeFileSync(pom, pomOf(jars))
  const args = ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${fresh}`]
  const { status, stdout, stderr } = spawnSync('mvn', args, { encoding: 'utf8', timeout: 300_000 })
  if (status !== 0) {
    rmSync(fresh, { recursive: true })
    const why = `${stdout}${stderr}`.split('\n').find(line => line.includes('ERROR')) ?? `status ${status}`
    return `Maven Central must be reachable for ${jars.name} (${why.slice(0, 200)})`
  }
  writeFileSync(join(fresh, LIST), list)
  rmSync(folder, { recursive: true, force: true })
  renameSync(fresh, folder)
  return null
}

function pomOf({ name, artifacts }: Jars): string {
  const dependencies = artifacts.map(artifact => {
    const [group, id, version] = artifact.split(':')
    return `<dependency><groupId>${group}</groupId><artifactId>${id}</artifactId><version>${version}</version></dependency>`
  })
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>ketch</groupId><artifactId>${name}</artifactId><version>1</version>
<packaging>pom</packaging><dependencies>${dependencies.join('\n')}</dependencies>
</project>
`
}

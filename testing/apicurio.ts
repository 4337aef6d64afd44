// Starts Apicurio Registry beside Ketch, to compare speed: the runner of its release with the storage in memory, which
// Maven Central has as a tar file. The product contains none of it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'
import { CACHE } from './cache.ts'
import { endWithUs } from './end-with-us.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'
import { hasProgram } from './programs.ts'

const VERSION = '2.6.13.Final'
const ARTIFACT = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`
const FOLDER = join(CACHE, 'java', `apicurio-${VERSION}`)
const START_WITHIN_MS = 120_000

export interface Apicurio {
  readonly pid: number
  /** The base URL for Confluent's clients. */
  readonly url: string
  pause(): void
  resume(): void
}

/** Returns why it cannot run here and how to enable it; null if it can. The first call fetches 142 MB. */
export function apicurioAbsence(): string | null {
  if (existsSync(FOLDER)) return null
  if (!hasProgram('java') || !hasProgram('mvn')) return 'apt-get install default-jdk-headless maven'
  const fresh = `${FOLDER}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  const copied = spawnSync(
    'mvn',
    ['-q', '-B', 'dependency:copy', `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${fresh}`],
    { cwd: fresh, encoding: 'utf8', timeout: 300_000 },
  )
  const archive = join(fresh, `apicurio-registry-app-${VERSION}-all.tar.gz`)
  const isThere = copied.status === 0 && spawnSync('tar', ['xzf', archive, '-C', fresh]).status === 0
  if (isThere) {
    rmSync(archive)
    renameSync(fresh, FOLDER)
    return null
  }
  rmSync(fresh, { recursive: true })
  return `Maven Central must be reachable for Apicurio (${copied.stdout.slice(0, 200)})`
}

/** Starts it, and resolves when it answers. Rejects with everything that it printed if it does not. */
export async function startApicurio(cleanUp: CleanUp): Promise<Apicurio> {
  const port = await freePort()
  const flags = ['-Xmx1G', '-Xms1G', '-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`]
  const runner = join(FOLDER, `apicurio-registry-app-${VERSION}-runner.jar`)
  const child: ChildProcess = spawn('java', [...flags, '-jar', runner], { stdio: ['ignore', 'pipe', 'pipe'] })
  endWithUs(child)
  let output = ''
  child.stdout!.on('data', chunk => (output += chunk))
  child.stderr!.on('data', chunk => (output += chunk))
  const gone = new Promise<void>(resolve => child.once('close', () => resolve()))
  cleanUp.after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`
  const answers = async () => {
    if (child.exitCode !== null) throw new Error(`Apicurio ended; it printed:\n${output}`)
    return await fetch(`${url}/subjects`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  await eventually('Apicurio answers', answers, START_WITHIN_MS)
  return { pid: child.pid!, url, pause: () => void child.kill('SIGSTOP'), resume: () => void child.kill('SIGCONT') }
}

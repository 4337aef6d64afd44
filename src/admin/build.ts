// Which build this is: the version of package.json, and the time of the commit that it was made from. A release writes
// the time into build.json; in a working copy git knows it. The time is null if neither exists.

import { execFile } from 'node:child_process'
import { readFile, realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface Build {
  readonly group: string
  readonly artifact: string
  readonly version: string
  /** The commit's, ISO 8601 in UTC; null when it is not known. */
  readonly time: string | null
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const GIT_MS = 2_000

/** The build in that folder, asked at the first call and remembered. */
export function openBuild(root = ROOT): () => Promise<Build> {
  let asked: Promise<Build> | null = null
  return () => (asked ??= readBuild(root))
}

/** The name and the version of this package. */
export async function readPackage(root = ROOT): Promise<{ readonly name: string; readonly version: string }> {
  return JSON.parse(await readFile(`${root}/package.json`, 'utf8'))
}

async function readBuild(root: string): Promise<Build> {
  const { name, version } = await readPackage(root)
  const time = (await releasedAt(root)) ?? (await committedAt(root))
  return { group: name, artifact: name, version, time }
}

/** The time that a release wrote; null if there is no such file. */
async function releasedAt(root: string): Promise<string | null> {
  try {
    const { time } = JSON.parse(await readFile(`${root}/build.json`, 'utf8')) as { time: string }
    return new Date(time).toISOString()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/**
 * The time of the commit that is checked out; null without git, or if the folder is only part of another repository.
 */
async function committedAt(root: string): Promise<string | null> {
  const git = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('git', ['-C', root, ...args], { timeout: GIT_MS })
    return stdout.trim()
  }
  try {
    if ((await realpath(await git('rev-parse', '--show-toplevel'))) !== (await realpath(root))) return null
    return new Date(await git('show', '--no-patch', '--format=%cI', 'HEAD')).toISOString()
  } catch {
    return null
  }
}

// Says which build this is: the version in package.json and the time of the commit. A release writes the time into
// build.json. In a working copy the time comes from git. It is null if neither is available.

import { execFile } from 'node:child_process'
import { readFile, realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface Build {
  readonly group: string
  readonly artifact: string
  readonly version: string
  /** The time of the commit, ISO 8601 in UTC; null if it is unknown. */
  readonly time: string | null
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const GIT_MS = 2_000

/**
 * Returns a function that resolves to the build in this folder. It reads the build at its first call and keeps it.
 */
export function openBuild(root = ROOT): () => Promise<Build> {
  let asked: Promise<Build> | null = null
  return () => (asked ??= readBuild(root))
}

/** Resolves to the name and the version of this package. */
export async function readPackage(root = ROOT): Promise<{ readonly name: string; readonly version: string }> {
  return JSON.parse(await readFile(`${root}/package.json`, 'utf8'))
}

async function readBuild(root: string): Promise<Build> {
  const { name, version } = await readPackage(root)
  const time = (await releasedAt(root)) ?? (await committedAt(root))
  return { group: name, artifact: name, version, time }
}

/** Resolves to the time that a release wrote; null if there is no build.json. */
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
 * Resolves to the time of the commit that is checked out; null without git, or if the folder is only a part of
 * another repository.
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

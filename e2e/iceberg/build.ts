// Installs the SQL engines into the cache, once.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isLong } from '../../testing/at-length.ts'
import {
  AWS_BUNDLE,
  AWS_JAR,
  COMPLETE,
  FOLDER,
  LONG_FOLDER,
  LONG_PACKAGES,
  PACKAGES,
  SPARK_JAR,
  SPARK_RUNTIME,
  TRINO,
  TRINO_FOLDER,
} from './programs.ts'

function run(command: string, args: readonly string[]): void {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}`)
}

/** Makes a folder with `make` unless it is complete. */
function once(folder: string, make: () => void): void {
  if (existsSync(join(folder, COMPLETE))) return
  rmSync(folder, { recursive: true, force: true })
  make()
  writeFileSync(join(folder, COMPLETE), '')
}

function installPython(folder: string, packages: readonly string[]): void {
  once(folder, () => {
    run('python3', ['-m', 'venv', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    run(join(folder, 'bin/python'), [...pip, ...packages])
  })
}

/** Copies an artifact of Maven Central, and nothing that it depends on, into a folder. */
function fetchArtifact(artifact: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  run('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`])
}

installPython(FOLDER, PACKAGES)
if (isLong) {
  installPython(LONG_FOLDER, LONG_PACKAGES)
  if (!existsSync(SPARK_JAR)) fetchArtifact(SPARK_RUNTIME, dirname(SPARK_JAR))
  if (!existsSync(AWS_JAR)) fetchArtifact(AWS_BUNDLE, dirname(AWS_JAR))
  once(TRINO_FOLDER, () => {
    const fresh = `${TRINO_FOLDER}.${process.pid}`
    try {
      fetchArtifact(TRINO, fresh)
      const [id, version] = TRINO.split(':').slice(1)
      run('tar', ['-xzf', join(fresh, `${id}-${version}.tar.gz`), '-C', fresh])
      // Only the plugin that reads tables: all of them take a minute to load. Its files are links to those of others.
      mkdirSync(join(TRINO_FOLDER, 'plugin'), { recursive: true })
      for (const part of ['lib', 'plugin/iceberg'])
        renameSync(join(fresh, `${id}-${version}`, part), join(TRINO_FOLDER, part))
    } finally {
      rmSync(fresh, { recursive: true, force: true })
    }
  })
}

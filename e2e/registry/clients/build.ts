// Installs the client libraries of the registry into the cache, once: from PyPI, npm, the Go modules and
// Maven Central.

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { goCommand, installFromNpm, installFromPyPI, runFor } from '../../installs.ts'
import {
  GO_PROGRAM,
  GO_SOURCES,
  JAVA_ARTIFACT,
  JAVA_FOLDER,
  NPM_FOLDER,
  NPM_PACKAGES,
  PYTHON_FOLDER,
  PYTHON_PACKAGE,
} from './packages.ts'

async function installPython(): Promise<void> {
  if (!existsSync(PYTHON_FOLDER)) await installFromPyPI(PYTHON_FOLDER, [PYTHON_PACKAGE])
}

async function installNpm(): Promise<void> {
  if (!existsSync(NPM_FOLDER)) await installFromNpm(NPM_FOLDER, NPM_PACKAGES)
}

async function buildGo(): Promise<void> {
  if (existsSync(GO_PROGRAM)) return
  mkdirSync(dirname(GO_PROGRAM), { recursive: true })
  const args = ['build', '-C', GO_SOURCES, '-trimpath', '-o', GO_PROGRAM, '.']
  await runFor(GO_PROGRAM, await goCommand(), args, { GOFLAGS: '' })
}

async function fetchJava(): Promise<void> {
  if (existsSync(JAVA_FOLDER)) return
  // Not `copy-dependencies`: the artifact names a repository of its own, which Maven would ask first.
  const args = ['-q', '-B', 'dependency:copy', `-Dartifact=${JAVA_ARTIFACT}`, `-DoutputDirectory=${JAVA_FOLDER}`]
  await runFor(JAVA_FOLDER, 'mvn', args)
}

// They wait for the network most of the time.
await Promise.all([installPython(), installNpm(), buildGo(), fetchJava()])

// Folders of an embedded store for tests. Each one goes with its test.

import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'

/** The path of a new, empty folder. */
export function newFolder(cleanUp: CleanUp): string {
  const path = fs.mkdtempSync(join(tmpdir(), 'ketch-store-'))
  cleanUp.after(async () => fs.rmSync(path, { recursive: true, force: true }))
  return path
}

/**
 * The path of a copy of the folder. The copy holds what a kill at this moment would leave, without what closing adds.
 */
export function snapshot(cleanUp: CleanUp, path: string): string {
  const copy = newFolder(cleanUp)
  for (const name of fs.readdirSync(path)) fs.copyFileSync(join(path, name), join(copy, name))
  return copy
}

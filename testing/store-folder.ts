// Creates folders of an embedded store for tests. Each folder is removed with its test.

import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'

/** Returns the path of a new, empty folder. */
export function newFolder(cleanUp: CleanUp): string {
  const path = fs.mkdtempSync(join(tmpdir(), 'ketch-store-'))
  cleanUp.after(async () => fs.rmSync(path, { recursive: true, force: true }))
  return path
}

/**
 * Returns the path of a copy of the folder. The copy has the state that a kill at this moment would leave, without
 * the writes of a close.
 */
export function snapshot(cleanUp: CleanUp, path: string): string {
  const copy = newFolder(cleanUp)
  for (const name of fs.readdirSync(path)) fs.copyFileSync(join(path, name), join(copy, name))
  return copy
}

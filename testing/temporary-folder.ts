// Folders of tests.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CleanUp } from './broker.ts'

/**
 * Creates a folder whose name begins with the prefix. It is removed when the test ends. Hooks of a test run in the
 * order in which they were registered, so a broker that starts later may still write into the folder: the removal is
 * tried again.
 */
export async function temporaryFolder(cleanUp: CleanUp, prefix: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), prefix))
  cleanUp.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  return folder
}

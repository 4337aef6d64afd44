// Installs the foreign clients of the agent tools into the cache, once, from npm.

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { installFromNpm } from '../installs.ts'
import { FINISHED, FOLDER, PACKAGES } from './packages.ts'

if (!existsSync(FINISHED)) {
  // A part of an installation that was cut off.
  rmSync(FOLDER, { recursive: true, force: true })
  await installFromNpm(FOLDER, PACKAGES)
  writeFileSync(FINISHED, '')
}

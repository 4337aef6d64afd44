// Installs the foreign clients of the agent tools into the cache, once, from npm.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runFor } from '../installs.ts'
import { FINISHED, FOLDER, PACKAGES } from './packages.ts'

if (!existsSync(FINISHED)) {
  // A part of an installation that was cut off.
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), '{ "private": true }\n')
  // No package here needs a script to be installed.
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', FOLDER]
  await runFor(FOLDER, 'npm', [...args, ...PACKAGES], {
    // The packages are for the Node that runs the tests. Debian's npm trusts the certificates of the machine; another
    // npm needs this option.
    NODE_OPTIONS: '--use-system-ca',
    PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
  })
  writeFileSync(FINISHED, '')
}

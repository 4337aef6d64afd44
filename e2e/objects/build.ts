// Installs the foreign S3 servers into the cache, once.

import { existsSync } from 'node:fs'
import { goCommand, installFromPyPI, runFor } from '../installs.ts'
import { MOTO, MOTO_FOLDER, motoServer, VERSITY, VERSITY_FOLDER, versityServer } from './servers.ts'

if (!existsSync(motoServer)) await installFromPyPI(MOTO_FOLDER, [MOTO])
if (!existsSync(versityServer)) {
  await runFor(VERSITY_FOLDER, await goCommand(), ['install', VERSITY], { GOBIN: VERSITY_FOLDER, GOFLAGS: '' })
}

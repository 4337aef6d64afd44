// Builds @confluentinc/kafka-javascript once from its npm package, under .cache/. Its prebuilt binary is not on npm,
// so this compiles the binding and the librdkafka in the package. Needs gcc, g++, make, python3 and Debian's
// libssl-dev, zlib1g-dev, libsasl2-dev, libzstd-dev, liblz4-dev and libcurl4-openssl-dev; takes about a minute and a
// half on two cores.

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { confluentJs, FOLDER, PACKAGE, VERSION } from './client.ts'

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url))

if (confluentJs.absence() !== null) {
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), '{ "private": true }\n')
  const args = ['install', '--no-audit', '--no-fund', '--loglevel=error', `${PACKAGE}@${VERSION}`]
  const { status } = spawnSync('npm', args, {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      // Uses Debian's libraries instead of downloading others.
      CKJS_LINKING: 'dynamic',
      // The build starts a compiler for every file at once, unless the load of the machine is above this.
      MAKEFLAGS: `-l${availableParallelism()}`,
      // Debian's npm trusts the certificates of the machine. Another npm needs this option.
      NODE_OPTIONS: '--use-system-ca',
      // The headers of the Node that loads the binding; npm may run on another Node.
      npm_config_nodedir: join(packages, `node-${process.platform}-${process.arch}`),
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
    },
  })
  if (status !== 0) throw new Error(`npm install of ${PACKAGE} ended with status ${status}`)
}

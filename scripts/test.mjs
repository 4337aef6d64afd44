// `npm test`: runs everything that this machine can run and prints at the end what it cannot run.

import { consoleFolder } from './console-build.mjs'
import { ensureInstalled, root, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: true })
ensureInstalled({ dev: true, folder: consoleFolder })

runTypeScript('scripts/suite.ts', process.argv.slice(2), { cwd: root })

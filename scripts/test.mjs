// `npm test`: runs everything that this machine can run and prints at the end what it cannot run.

import { ensureInstalled, root, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: true })

runTypeScript('scripts/suite.ts', process.argv.slice(2), { cwd: root })

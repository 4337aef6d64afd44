// `npm test`: everything that this machine can run; what it can't is named at the end.

import { ensureInstalled, root, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: true })

runTypeScript('scripts/suite.ts', process.argv.slice(2), { cwd: root })

// `npm run check`: the short checks for daily work, under 30 seconds.

import { ensureInstalled, root, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: true })
runTypeScript('scripts/suite.ts', ['--inner', ...process.argv.slice(2)], { cwd: root })

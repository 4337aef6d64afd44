// `npm run check`: the short checks for daily work, under 30 seconds.

import { consoleFolder } from './console-build.mjs'
import { ensureInstalled, root, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: true })
ensureInstalled({ dev: true, folder: consoleFolder })
runTypeScript('scripts/suite.ts', ['--inner', ...process.argv.slice(2)], { cwd: root })

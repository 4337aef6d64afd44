// Runs one of the project's TypeScript programs: `node scripts/run.mjs bench/run.ts --flag`.

import { ensureInstalled, root, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: true })
const [file, ...args] = process.argv.slice(2)
runTypeScript(file, args, { cwd: root })

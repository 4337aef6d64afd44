#!/usr/bin/env node
// `npm start`: installs the packages that the broker needs, builds the console if its sources have changed, then runs
// the broker with the arguments. package.json calls it with `exec`, because npm sends a signal only to its shell.
// Without `exec` the shell would end and leave the broker running.

import { isConsoleBuilt } from './console-build.mjs'
import { ensureInstalled, runFirst, runTypeScript } from './node24.mjs'

const args = process.argv.slice(2)
/** False for the operator's commands, which need no console. The program that builds looks at the other arguments. */
const mayStartBroker = args.length === 0 || args[0] === 'start' || args[0].startsWith('-')

ensureInstalled({ dev: false })
if (mayStartBroker && !isConsoleBuilt()) runFirst('scripts/build-console.ts', args)
runTypeScript('src/main.ts', args)

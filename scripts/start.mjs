#!/usr/bin/env node
// `npm start`: installs the packages that the broker needs, then runs the broker with the arguments. package.json
// calls it with `exec`, because npm sends a signal only to its shell. Without `exec` the shell would end and leave
// the broker running.

import { ensureInstalled, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: false })
runTypeScript('src/main.ts', process.argv.slice(2))

#!/usr/bin/env node
// `npm start`: installs what the broker needs, then runs it. Arguments go to the broker. package.json calls it with
// `exec`: npm passes a signal to its shell alone, which would end and leave the broker running.

import { ensureInstalled, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: false })
runTypeScript('src/main.ts', process.argv.slice(2))

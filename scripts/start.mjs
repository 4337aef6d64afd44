#!/usr/bin/env node
// `npm start`: installs what the broker needs, then runs it. Arguments go to the broker.

import { ensureInstalled, runTypeScript } from './node24.mjs'

ensureInstalled({ dev: false })
runTypeScript('src/main.ts', process.argv.slice(2))

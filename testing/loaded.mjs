// A preload for a broker (`--import`). When the process ends, it prints the addresses of the modules that it loaded.

import { registerHooks } from 'node:module'

const loaded = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})
process.on('exit', () => console.log(`loaded ${JSON.stringify(loaded)}`))

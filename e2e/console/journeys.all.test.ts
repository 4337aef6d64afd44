// Every journey through the console, in Chromium, on the embedded store or on Redis: the seed gives each journey its
// store, and the next journey has the other one. `npm run console -- journeys` takes every journey on both stores. Most
// of a journey is waiting, so that both stores run side by side.

import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { isLong } from '../../testing/at-length.ts'
import { noRedis } from '../../testing/redis.ts'
import { noBrowser, openBrowser } from './browser.ts'
import { journeys } from './journeys/all.ts'
import { oneOf } from './part.ts'
import { STORES } from './world.ts'

describe('the console', { concurrency: STORES.length }, () => {
  for (const store of STORES) {
    const skip = noBrowser || (store === 'redis' && noRedis)
    describe(`on ${store}`, { skip, concurrency: 1 }, () => {
      let browser: Browser
      before(async () => {
        browser = await openBrowser()
      })
      after(() => browser?.close())
      for (const [row, { name, stores = STORES, skip: isSkipped = false, run }] of journeys.entries())
        if (isLong ? stores.includes(store) : oneOf(stores, row) === store)
          test(name, { skip: isSkipped, timeout: 500_000 }, async t => {
            await run({ t, browser, store })
          })
    })
  }
})

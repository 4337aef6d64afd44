// Every journey through the console, in Chromium, on the embedded store and on Redis. Most of a journey is waiting, so
// that both stores run side by side.

import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { noRedis } from '../../testing/redis.ts'
import { noBrowser, openBrowser } from './browser.ts'
import { journeys } from './journeys/all.ts'
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
      for (const { name, stores = STORES, skip: isSkipped = false, run } of journeys)
        if (stores.includes(store))
          test(name, { skip: isSkipped, timeout: 180_000 }, async t => {
            await run({ t, browser, store })
          })
    })
  }
})

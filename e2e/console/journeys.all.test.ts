// Every journey through the console, in Chromium, on the embedded store and on Redis.

import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { noRedis } from '../../testing/redis.ts'
import { noBrowser, openBrowser } from './browser.ts'
import { journeys } from './journeys/all.ts'
import { STORES } from './world.ts'

for (const store of STORES) {
  const skip = noBrowser || (store === 'redis' && noRedis)
  describe(`the console on ${store}`, { skip }, () => {
    let browser: Browser
    before(async () => {
      browser = await openBrowser()
    })
    after(() => browser?.close())
    for (const { name, stores = STORES, skip = false, run } of journeys)
      if (stores.includes(store))
        test(name, { skip, timeout: 120_000 }, async t => {
          await run({ t, browser, store })
        })
  })
}

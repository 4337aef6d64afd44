// With svc.mcp.mutations-enabled=false no sequence of calls changes the store. The long run makes more calls, on Redis
// too (mutations-off.all.test.ts).

import { test } from 'node:test'
import { changesNothing } from '../../../testing/agent-random-calls.ts'
import { newFolder } from '../../../testing/store-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { openEmbeddedStore } from '../../store/embedded/embedded-store.ts'

const CALLS = 60

test('with changes off no sequence of calls changes the embedded store', async t => {
  const store = await openEmbeddedStore({
    ...{ path: newFolder(t), clock: systemClock, fsync: 'interval', fsyncIntervalMs: 1_000 },
    report: () => {},
  })
  await changesNothing(t, CALLS, { openStore: async () => store, store })
})

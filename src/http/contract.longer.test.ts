// The contract of the HTTP interface (testing/contract-walk.ts) on the embedded store, and with --all on Redis, where a
// run sends a third of the unusual requests.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { atLength } from '../../testing/at-length.ts'
import { startBroker } from '../../testing/broker.ts'
import { SAMPLE } from '../../testing/contract.ts'
import { checkContract } from '../../testing/contract-walk.ts'
import { roleSettings } from '../../testing/http-roles.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopic } from '../../testing/topic.ts'
import { offsetCommit } from '../protocol/messages/offset-commit.ts'
import type { Values } from '../settings/settings.ts'

/**
 * Checks the contract of a secured and of an open broker. First it creates the topic and the group that requests
 * name; other requests create everything else.
 */
async function check(t: TestContext, stores: () => Promise<Partial<Values>>, parts = 1): Promise<void> {
  const tier = async () => ({
    ...roleSettings,
    'storage.remote.path': await temporaryFolder(t, 'ketch-tables-'),
    ...(await stores()),
  })
  const secured = await startBroker(t, await tier(), { hasHttp: true })
  const open = { ...(await tier()), 'admin.security-enabled': false }
  await createTopic(secured, SAMPLE, 1)
  const partitions = [{ partitionIndex: 0, committedOffset: 0, committedMetadata: null }]
  const wire = await secured.connect()
  const committed = await wire.send(offsetCommit, 8, {
    groupId: SAMPLE,
    memberId: '',
    topics: [{ name: SAMPLE, partitions }],
  })
  assert.equal(committed.topics[0]!.partitions[0]!.errorCode, 0)
  await checkContract(t, { url: secured.url, open: (await startBroker(t, open, { hasHttp: true })).url, parts })
}

test('every route answers as documented to ADMIN, VIEWER and anonymous callers, whatever they send, and shows no internals', t =>
  check(t, async () => ({})))

if (atLength(true, false)) {
  test('every route answers on Redis as documented', { skip: noRedis }, t =>
    check(t, async () => ({ 'redis.uri': (await startRedis(t)).uri }) as Partial<Values>, 3),
  )
}

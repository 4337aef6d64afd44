// Tests a broker that lives by its record in the store, but whose listener no client can reach.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { freePort } from '../../../testing/free-port.ts'
import { append, commit } from '../../../testing/group-calls.ts'
import { createTopic } from '../../../testing/topic.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { joinCluster } from '../../cluster/cluster.ts'
import { findCoordinator } from '../../protocol/messages/find-coordinator.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { createLogger } from '../../telemetry/logger.ts'

interface Listed {
  readonly groups: readonly { readonly groupId: string; readonly lag: Readonly<Record<string, unknown>> }[]
  readonly unavailableBrokers: readonly { readonly brokerId: number; readonly reason: string }[]
}

interface Described {
  readonly positions: readonly { readonly startOffset: number | null }[]
}

test('while a broker does not answer, the others answer what they know and name what is missing', async t => {
  const brokers = createCluster(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const one = await brokers.start(1)
  const wire = await one.connect()
  await createTopic(one, 'orders', 8)
  for (let partition = 0; partition < 8; partition++) await append(wire, partition, ['a', 'b'])
  const offsets = { 0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 0, 6: 0, 7: 0 }
  const names = Array.from({ length: 20 }, (_, i) => `group-${i}`)
  for (const name of names) await commit(wire, name, offsets)

  const silent = await joinCluster({
    store: brokers.contents.beside(),
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ clock: systemClock, write: () => {}, format: 'plain' }),
    brokerId: 2,
    rack: null,
    expiryMs: 1_000,
    lost: error => assert.fail(error),
  })
  t.after(() => silent.close())
  await silent.announce([{ name: 'PLAINTEXT', host: '127.0.0.1', port: await freePort(), security: 'plaintext' }])
  await brokers.agreed([one], [1, 2])

  const { coordinators } = await wire.send(findCoordinator, 4, { coordinatorKeys: names })
  const [ours, theirs] = [1, 2].map(id => coordinators.filter(({ nodeId }) => nodeId === id).map(({ key }) => key))
  assert.ok(ours!.length > 0 && theirs!.length > 0)
  const { topics } = await wire.send(metadata, 9, { topics: [{ name: 'orders' }] })
  const ledByUs = topics[0]!.partitions.filter(({ leaderId }) => leaderId === 1).length

  const ask = askHttp(one.url)
  const { groups, unavailableBrokers } = await ask<Listed>('/api/v1/groups?limit=1000')
  const listed = groups.map(({ groupId }) => groupId)
  assert.ok(ours!.every(name => listed.includes(name)))
  assert.deepEqual([unavailableBrokers.length, unavailableBrokers[0]!.brokerId], [1, 2])
  assert.match(unavailableBrokers[0]!.reason, /^broker 2 cannot be reached/)
  const reset = { body: { dryRun: true } }
  for (const [path, options] of [
    ['', {}],
    ['/lag', {}],
    ['', { method: 'DELETE' }],
    ['/offsets/reset', reset],
  ] as const) {
    const { code } = await ask(`/api/v1/groups/${theirs![0]}${path}`, 503, options)
    assert.equal(code, 'BROKER_UNAVAILABLE')
  }
  const { totalLag, partitionsWithUnknownLag } = groups.find(({ groupId }) => groupId === ours![0])!.lag
  const known = ledByUs === 0 ? null : 2 * ledByUs
  assert.deepEqual([totalLag, partitionsWithUnknownLag], [known, 8 - ledByUs], 'a lower bound')
  const ofTopic = await ask<Listed>('/api/v1/groups?limit=1000&topic=orders')
  assert.deepEqual(
    ofTopic.groups.map(({ groupId }) => groupId),
    listed,
    'a group with a position in partitions that do not answer is listed too',
  )
  const { positions } = await ask<Described>(`/api/v1/groups/${ours![0]}`)
  assert.equal(positions.filter(({ startOffset }) => startOffset === null).length, 8 - ledByUs)
})

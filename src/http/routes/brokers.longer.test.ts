import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { createTopic } from '../../../testing/topic.ts'

interface Listed {
  readonly brokers: readonly Readonly<Record<string, unknown>>[]
  readonly partitions: number
}

interface Configs {
  readonly configs: readonly {
    readonly name: string
    readonly value: string | null
    readonly isSet: boolean
    readonly unit: string | null
    readonly choices: readonly string[] | null
  }[]
}

test('each broker knows all living brokers and the settings of each', async t => {
  const cluster = createCluster(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const one = await cluster.start(1, { 'broker.rack': 'a' })
  const two = await cluster.start(2, { 'broker.rack': 'b', 'broker.fetch-max-wait': 700 })
  await cluster.agreed([one, two], [1, 2])
  await createTopic(one, 'orders', 6)
  const ask = askHttp(one.url)
  const { brokers, partitions } = await ask<Listed>('/api/v1/brokers')
  assert.deepEqual(
    brokers.map(({ id, rack, isSelf, isServing, isConfirmed }) => [id, rack, isSelf, isServing, isConfirmed]),
    [
      [1, 'a', true, true, true],
      [2, 'b', false, true, null],
    ],
  )
  assert.equal(new Set(brokers.map(({ version }) => version)).size, 1)
  assert.match(String(brokers[1]!.version), /^\d+\.\d+\.\d+/)
  assert.deepEqual([partitions, brokers.reduce((sum, { leads }) => sum + Number(leads), 0)], [6, 6])

  for (const [id, value, isSet] of [
    [1, '500ms', false],
    [2, '700', true],
  ] as const) {
    const { configs } = await ask<Configs>(`/api/v1/brokers/${id}/configs`)
    const found = configs.find(({ name }) => name === 'svc.broker.fetch-max-wait')
    assert.deepEqual([found?.value, found?.isSet], [value, isSet])
    const written = (wanted: string) => {
      const { unit, choices } = configs.find(({ name }) => name === wanted)!
      return [unit, choices]
    }
    assert.deepEqual(written('connections.max.idle.ms'), ['ms', null])
    assert.deepEqual(written('log.retention.hours'), ['hours', null])
    assert.deepEqual(written('svc.storage.local.embedded.fsync'), [null, ['always', 'interval']])
  }
  await ask('/api/v1/brokers/7/configs', 404)
  await ask('/api/v1/brokers/x/configs', 400)
})

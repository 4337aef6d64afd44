import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminClient } from '../../../testing/admin-client.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { TestJudge } from '../../../testing/judge.ts'
import { createTopicOfAll } from '../../../testing/topic.ts'

const PARTITIONS = 8

interface Row {
  readonly partition: number
  readonly offset: number | null
  readonly error: { readonly code: string; readonly detail: string } | null
}

test('records over HTTP are judged alike at this broker and at another one, which names the bad record too', async t => {
  const judge = new TestJudge()
  const cluster = createCluster(t, { 'admin.security-enabled': false }, { hasHttp: true, judge })
  const brokers = [await cluster.start(1), await cluster.start(2)]
  await cluster.agreed(brokers, [1, 2])
  const [one, two] = brokers.map(({ url }) => adminClient(`${url}/api/v1`))
  await createTopicOfAll(brokers[0]!, 't', PARTITIONS, [1, 2])
  const produce = async (api: typeof one, values: readonly string[]): Promise<readonly Row[]> => {
    const messages = Array.from({ length: PARTITIONS }, (_, partition) =>
      values.map(text => ({ partition, value: { text: partition === 0 ? 'good' : text } })),
    )
    const { body } = await api!.ask('POST', '/topics/t/messages', { messages: messages.flat() })
    return body.messages ?? []
  }
  const isLed = async (api: typeof one) => {
    const rows = await produce(api, ['first'])
    return rows.length === PARTITIONS && rows.every(({ error }) => error === null)
  }
  await eventually('each partition is led', async () => (await isLed(one)) && (await isLed(two)))

  for (const api of [one, two]) {
    const rows = await produce(api, ['good', 'X'])
    assert.equal(rows.length, 2 * PARTITIONS)
    for (const [i, { partition, error }] of rows.entries()) {
      const detail = i % 2 === 1 ? 'record 1 begins with X' : '1 records begin with X.'
      assert.deepEqual(error, partition === 0 ? null : { code: 'INVALID_RECORD', detail })
    }
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AdminClient, adminClient } from '../../../testing/admin-client.ts'
import { createCluster } from '../../../testing/cluster.ts'
import { eventually } from '../../../testing/eventually.ts'
import { createTopicOfAll } from '../../../testing/topic.ts'

// biome-ignore lint/suspicious/noExplicitAny: rows of answers, the test reads their members without types
type Row = any

const PARTITIONS = 8

test('partitions that another broker leads are listed, read, written, tailed and deleted like own ones', async t => {
  const cluster = createCluster(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const brokers = [await cluster.start(1), await cluster.start(2)]
  await cluster.agreed(brokers, [1, 2])
  const clients = brokers.map(({ url }) => adminClient(`${url}/api/v1`))
  const [one, two] = clients as [AdminClient, AdminClient]
  await createTopicOfAll(brokers[0]!, 't', PARTITIONS, [1, 2])

  const produced = async (api: AdminClient, text: string) => {
    const messages = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, value: { text } }))
    const { body } = await api.ask('POST', '/topics/t/messages', { messages })
    return body.messages?.filter((row: Row) => row.error === null).length ?? 0
  }
  // A broker takes its partitions one after the other, and the other broker learns of each by itself.
  const isLed = async (api: AdminClient) => (await produced(api, 'first')) === PARTITIONS
  await eventually('each partition is led', async () => (await isLed(one)) && (await isLed(two)))
  assert.equal(await produced(two, 'second'), PARTITIONS)

  const [here, there] = [await one.ask('GET', '/topics/t'), await two.ask('GET', '/topics/t')]
  assert.deepEqual(here.body.leaders, there.body.leaders)
  assert.deepEqual(new Set(here.body.leaders.map((row: Row) => row.leader)), new Set([1, 2]))
  for (const { body } of [here, there]) {
    assert.ok(body.records >= 2 * PARTITIONS && body.sizeBytes > 0)
    assert.ok(body.leaders.every((row: Row) => row.error === null && row.leaderEpoch > 0 && row.sizeBytes > 0))
  }
  const lists = await Promise.all(clients.map(api => api.ask('GET', '/topics?sort=records')))
  assert.deepEqual(lists[0]!.body.topics[0].records, lists[1]!.body.topics[0].records)

  for (const api of clients) {
    for (const order of ['oldest', 'newest']) {
      const seen: Row[] = []
      let cursor = ''
      do {
        const { body } = await api.ask('GET', `/topics/t/messages?decode=utf8&limit=5&order=${order}${cursor}`)
        assert.deepEqual(body.unavailable, [])
        seen.push(...body.messages)
        cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`
      } while (cursor !== '')
      assert.equal(seen.length, here.body.records)
      assert.equal(seen.filter(({ value }) => value.text === 'second').length, PARTITIONS)
    }
    const since = await api.ask('GET', `/topics/t/messages?timestamp=${1}`)
    assert.equal(since.body.messages.length, here.body.records)
    const all = await Promise.all(
      Array.from({ length: PARTITIONS }, (_, partition) =>
        api.ask('GET', `/topics/t/messages/${partition}/0?decode=utf8`),
      ),
    )
    assert.ok(all.every(({ body }) => body.value.text === 'first'))
  }

  const stop = new AbortController()
  const tail = await fetch(`${brokers[1]!.url}/api/v1/topics/t/messages/tail?decode=utf8`, { signal: stop.signal })
  const reading = (async () => {
    let text = ''
    for await (const chunk of tail.body!) {
      text += Buffer.from(chunk).toString()
      if (text.split('"text":"watched"').length > PARTITIONS) return
    }
  })()
  assert.equal(await produced(one, 'watched'), PARTITIONS)
  await reading
  stop.abort()

  const offsets = Array.from({ length: PARTITIONS }, (_, partition) => ({ partition, before: 'end' }))
  const deleted = await one.ask('POST', '/topics/t/records/delete', { offsets })
  assert.ok(deleted.body.partitions.every((row: Row) => row.error === null && row.start >= 3))
  const empty = await two.ask('GET', '/topics/t/messages')
  assert.deepEqual(empty.body.messages, [])
})

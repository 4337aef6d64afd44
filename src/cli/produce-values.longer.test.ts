// Many headers in the input of ketch produce: a request takes a number of values, besides its bytes.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { ketch } from '../../testing/run-ketch.ts'

test('records with many headers are produced, in as many requests as the API needs', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  await ketch(['topics', 'create', 'orders', '--partitions=1', `--url=${url}`])
  const headers = Array.from({ length: 40 }, () => ({ key: 'h', value: { text: 'v' } }))
  const line = `${JSON.stringify({ value: { text: 'x' }, headers })}\n`
  const options = ['produce', 'orders', '--ndjson', '--json', `--url=${url}`]
  // 290,000 values in 1.4 MB: by its bytes alone the first request would have more than 200,000 of them.
  const produced = await ketch(options, { input: [line.repeat(1_000)] })
  assert.deepEqual([produced.status, produced.err], [0, ''])
  assert.equal(JSON.parse(produced.out).records, 1_000)
})

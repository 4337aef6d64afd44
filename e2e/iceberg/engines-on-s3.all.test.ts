// Every engine reads tables in a bucket of an S3 server: the catalog names the server, and the engine has its own keys.
// engines.all.test.ts asks more, of tables in a folder. KETCH_LONG=1 adds Spark and Trino.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLong } from '../../testing/at-length.ts'
import { FOREIGN_SERVERS } from '../objects/servers.ts'
import { openBrokerWorld } from './broker-world.ts'
import { ENGINES } from './engines.ts'
import { EngineFindings } from './findings.ts'
import { sumsOf } from './sums.ts'

const server = FOREIGN_SERVERS.find(({ name }) => name === 'versitygw')!

test('SQL engines read tables in a bucket with keys of their own', {
  skip: server.absence,
  timeout: 1_800_000,
}, async t => {
  const { bucket, options } = await server.start(t)
  const { endpoint, region, accessKeyId, secretAccessKey } = options
  const lake = { bucket, endpoint: endpoint!, region: region!, keyId: accessKeyId!, secret: secretAccessKey! }
  const world = await openBrokerWorld(t, lake)
  const topics = [...world.topics.keys()]
  const headers = { authorization: `Bearer ${world.token}` }
  const loaded = await fetch(`${world.catalog}/v1/namespaces/default/tables/${topics[0]}`, { headers })
  const { metadata } = (await loaded.json()) as { metadata: { location: string } }
  assert.ok(metadata.location.startsWith(`s3://${bucket}/ketch/`), metadata.location)
  const findings = new EngineFindings()
  for (const { name, absence, open } of ENGINES.filter(engine => isLong || !engine.isLong))
    await t.test(`${name} finds every record once`, { skip: absence }, t =>
      findings.note(name, 'finds every record once', async () => {
        const session = await open(world, t)
        const found = await session.sums(topics.map(topic => ({ topic })))
        for (const [at, topic] of topics.entries()) assert.deepEqual(found[at], sumsOf(world.topics.get(topic)!), topic)
      }),
    )
  findings.keep('sql-engines-s3', 'a bucket', 'engines-on-s3.all.test.ts')
})

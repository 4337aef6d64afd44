import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { offsetCommit } from '../../src/protocol/messages/offset-commit.ts'
import { metricRows } from '../../src/telemetry/metrics.ts'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { batchOf, produceTo } from '../../testing/kafka.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopic } from '../../testing/topic.ts'
import { judgesAbsence, PYTHON } from './judges.ts'

const skip = judgesAbsence('scrape') ?? false
const READER = fileURLToPath(new URL('read_scrape.py', import.meta.url))
/** A group may have any name, and the name becomes a label. */
const GROUP = 'a "group"} 1\nforged 2\\é'

type Sample = readonly [
  family: string,
  name: string | null,
  labels: Readonly<Record<string, string>> | null,
  value: string | null,
]

function read(format: 'openmetrics' | 'text', scrape: string): readonly Sample[] {
  const { status, stdout, stderr } = spawnSync(PYTHON, [READER, format], { input: scrape, encoding: 'utf8' })
  assert.equal(status, 0, `${stderr}\n${scrape}`)
  return stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Sample)
}

/** Returns the URL of the scrape of a broker that has stored a record and knows a group. */
async function startWorking(t: TestContext): Promise<string> {
  const tables = await temporaryFolder(t, 'ketch-tables-')
  const broker = await startBroker(
    t,
    {
      'admin.security-enabled': false,
      'storage.remote.path': tables,
      'broker.metrics.offset-refresh-interval': 50,
      'broker.metrics.group-lag-refresh-interval': 50,
    },
    { hasHttp: true },
  )
  await createTopic(broker, 't', 1)
  const wire = await broker.connect()
  await produceTo(wire, batchOf(['v']))
  const partitions = [{ partitionIndex: 0, committedOffset: 0, committedMetadata: null }]
  await wire.send(offsetCommit, 8, { groupId: GROUP, memberId: '', topics: [{ name: 't', partitions }] })
  return `${broker.url}/actuator/prometheus`
}

test('the scrape is read by the reference reader in both formats, with every metric of this version', {
  skip,
}, async t => {
  const url = await startWorking(t)
  for (const [format, accept] of [
    ['openmetrics', 'application/openmetrics-text'],
    ['text', 'text/plain'],
  ] as const) {
    let scrape = ''
    await eventually('the lag is known', async () => {
      scrape = await (await fetch(url, { headers: { accept } })).text()
      return scrape.includes('svc_group_lag{')
    })
    const samples = read(format, scrape)
    const families = new Set(samples.map(([family]) => family))
    for (const { scrapedName, kind, notYet } of metricRows) {
      const family = kind === 'counter' ? scrapedName.slice(0, -'_total'.length) : scrapedName
      assert.equal(families.has(family), notYet === null, `${family} as ${format}`)
    }
    const [, , labels, value] = samples.find(([, name]) => name === 'svc_group_lag')!
    assert.deepEqual([labels, Number(value)], [{ group: GROUP }, 1])
  }
})

// Kafka's command-line tools against three brokers on one Redis: replication factors, assignments, and their change.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { startTools, type Tool, toolsAbsence } from './tools.ts'

const skip = toolsAbsence() ?? noRedis

/** Returns leader, replicas and in-sync replicas of each partition, as `kafka-topics --describe` prints them. */
function rowsOf(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/Leader: (\S+)\s+Replicas: (\S*)\s+Isr: (\S*)/g)].map(([, ...columns]) => columns)
}

test("Kafka's tools create topics with replicas, show them while a broker is away, and change them", {
  skip,
  timeout: 240_000,
}, async t => {
  const folder = await temporaryFolder(t, 'ketch-tools-')
  const redis = await startRedis(t)
  const brokers = await Promise.all(
    [1, 2, 3].map(id =>
      startBrokerProcess(t, {
        settings: { 'svc.redis.uri': redis.uri, 'svc.broker.id': String(id), 'svc.broker.expiry': '2s' },
      }),
    ),
  )
  const tools = startTools(t)
  const run = async (tool: Tool, args: string) => {
    const server = ['--bootstrap-server', brokers[0]!.address]
    const { status, out, err } = await tools.run(tool, [...args.split(' ').filter(arg => arg !== ''), ...server])
    return { status, text: `${out}${err}` }
  }
  await eventually(
    'the brokers see each other',
    async () => (await run('kafka-broker-api-versions', '')).text.match(/\(id: /g)?.length === 3,
    60_000,
  )
  const describe = async (more = '') => (await run('kafka-topics', `--describe --topic t${more}`)).text

  assert.equal((await run('kafka-topics', '--create --topic t --partitions 3 --replication-factor 3')).status, 0)
  // The tool asks any broker, and the other brokers learn of the topic a moment later.
  const isLed = (text: string) => /ReplicationFactor: 3\t/.test(text) && !/Leader: none/.test(text)
  const agreed = async () => (await Promise.all([describe(), describe(), describe()])).every(isLed)
  await eventually('every broker reports a leader of every partition', agreed, 60_000)
  for (const [leader, replicas, inSync] of rowsOf(await describe())) {
    assert.deepEqual([replicas!.split(',').sort().join(), inSync], ['1,2,3', replicas])
    assert.equal(replicas!.split(',')[0], leader)
  }
  const refused = await run('kafka-topics', '--create --topic four --replication-factor 4')
  assert.match(refused.text, /Unable to replicate the partition 4 time\(s\): .* only 3 broker\(s\) are registered/)

  const file = join(folder, 'reassign.json')
  const lists = [
    [3, 2],
    [2, 1],
    [1, 3],
  ]
  const partitions = lists.map((replicas, partition) => ({ topic: 't', partition, replicas }))
  await writeFile(file, JSON.stringify({ version: 1, partitions }))
  const reassign = (verb: string) => run('kafka-reassign-partitions', `${verb} --reassignment-json-file ${file}`)
  assert.match((await reassign('--execute')).text, /Successfully started partition reassignments for t-0,t-1,t-2/)
  await eventually('it is done', async () => (await reassign('--verify')).text.match(/is completed/g)?.length === 3)
  const { text, status } = await reassign('--verify')
  assert.deepEqual([status, text.match(/Clearing (broker|topic)-level throttles/g)?.length], [0, 2])
  assert.match((await run('kafka-reassign-partitions', '--list')).text, /No partition reassignments found/)
  await eventually(
    'the lists are shown',
    async () => rowsOf(await describe()).join(';') === '3,3,2,3,2;2,2,1,2,1;1,1,3,1,3',
  )

  await brokers[1]!.kill('SIGKILL')
  await eventually(
    'its replicas are out of sync',
    async () => rowsOf(await describe()).join(';') === '3,3,2,3;1,2,1,1;1,1,3,1,3',
    60_000,
  )
  // Each request may go to another broker, which sees the change a moment later.
  await eventually('they are under-replicated', async () => {
    return rowsOf(await describe(' --under-replicated-partitions')).length === 2
  })
  await eventually(
    'every partition is available',
    async () => (await describe(' --unavailable-partitions')).trim() === '',
  )
})

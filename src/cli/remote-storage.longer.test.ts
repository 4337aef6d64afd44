// The verbs of the remote tier, against a real broker with a folder of tables.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startBroker } from '../../testing/broker.ts'
import { eventually } from '../../testing/eventually.ts'
import { ketch } from '../../testing/run-ketch.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { createTopic } from '../../testing/topic.ts'
import { produce } from '../protocol/messages/produce.ts'
import { encodeBatch } from '../protocol/records.ts'
import type { Values } from '../settings/settings.ts'

const REMOTE = { 'remote.storage.enable': 'true', 'segment.ms': '1', 'retention.ms': '-1', 'local.retention.ms': '1' }

async function started(t: TestContext, settings: Partial<Values> = {}) {
  const path = await temporaryFolder(t, 'ketch-tables-')
  const broker = await startBroker(
    t,
    {
      ...{ 'admin.security-enabled': false, 'storage.remote.path': path, 'storage.worker.tick-interval': 100 },
      ...{ 'storage.worker.lease-duration': 1_000, 'storage.remote.iceberg.max-file-wait': 0, ...settings },
    },
    { hasHttp: true },
  )
  await createTopic(broker, 'orders', 1, REMOTE)
  const wire = await broker.connect()
  await eventually('the partition takes records', async () => {
    const partitionData = [{ index: 0, records: encodeBatch([{ key: 'a', value: '1', timestamp: 1_000 }]) }]
    const body = { acks: -1, timeoutMs: 5_000, topicData: [{ name: 'orders', partitionData }] }
    return (await wire.send(produce, 9, body)).responses[0]!.partitionResponses[0]!.errorCode === 0
  })
  const run = (line: string) => ketch([...line.split(' '), `--url=${broker.url}`])
  return { run, path }
}

test('tables, jobs and segments are shown, also as JSON', async t => {
  const { run, path } = await started(t)
  const isCold = async () => /^ *0 +1 +remote /m.test((await run('storage segments orders 0')).out)
  await eventually('the segment is cold', isCold, 60_000)
  const segments = await run('storage segments orders 0')
  assert.equal(segments.status, 0)
  assert.match(segments.out, /^start offset +0\nlocal start offset +1\nend offset +1\nremote ranges +0-0\n/)
  assert.match(segments.out, /^ *0 +1 +remote +sealed +- +- +- +-\n *1 +1 +local +active +0 +0 B +- +-$/m)

  await eventually('the job is done', async () => (await run('storage jobs --status=done')).out.includes(' done '))
  const jobs = await run('storage jobs')
  assert.match(jobs.out, /^JOB +TOPIC +PARTITION .*FAILURE\n\S{22}:0:0 +orders +0 +0 +1 +\d+ B +done +1 of 5 +\d{4}-/)
  assert.equal((await run('storage jobs --status=failed')).out, 'There are no such jobs.\n')
  const { counts, jobs: rows } = JSON.parse((await run('storage jobs --topic=orders --limit=1 --json')).out)
  assert.deepEqual([counts.done, rows.length], [1, 1])

  const detail = await run('storage segments orders 0 --base=0')
  assert.match(detail.out, new RegExp(`^tier +remote$.*^job +${rows[0].id} done$.*^inspection +done$`, 'ms'))
  assert.match(detail.out, /^ *0 +1 +1 +[\d.]+ KiB +file:\/\//m)
  assert.equal(JSON.parse((await run('storage segments orders 0 --base=0 --json')).out).totalFiles, 1)

  const remote = await run('storage remote')
  assert.match(remote.out, new RegExp(`^place +file://${path}$.*^breaker +closed since .*^creates once +kept$`, 'ms'))
  assert.match(remote.out, /^orders +\d+ +\d+ +1 +1 +[\d.]+ KiB +file:/m)
  assert.equal(JSON.parse((await run('storage remote --filter=ord --json')).out).tables.length, 1)
  assert.match((await run('storage remote --filter=nothing')).out, /\nNo topic has a table\.\n$/)
})

test('jobs are cancelled and retried, and a refusal says why', async t => {
  const { run } = await started(t, { 'storage.remote.iceberg.max-file-wait': 3_600_000 })
  await eventually('the job is there', async () => (await run('storage jobs')).out.includes(' pending '))
  const { id } = JSON.parse((await run('storage jobs --json')).out).jobs[0]
  const cancelled = await run(`storage cancel ${id}`)
  assert.deepEqual([cancelled.status, cancelled.out], [0, `The job ${id} is cancelled.\n`])
  const twice = await run(`storage cancel ${id}`)
  assert.equal(twice.status, 1)
  assert.match(twice.err, /is cancelled; only a pending or failed job can be cancelled\. \[CONFLICT\]/)
  assert.equal((await run('storage retry --all-failed')).out, '0 failed jobs are pending again.\n')
  assert.equal((await run(`storage retry ${id}`)).out, `The job ${id} is pending again.\n`)
  assert.equal((await run('storage retry --all-failed --topic=orders --json')).status, 0)
})

test('a wrong command line is refused before anything is asked, and an unknown thing by the broker', async t => {
  const { run } = await started(t)
  const id = `${'A'.repeat(22)}:0:0`
  const cases: readonly [string, number, RegExp][] = [
    ['storage retry', 2, /name one job, or give --all-failed/],
    [`storage retry ${id} --all-failed`, 2, /name one job, or give --all-failed/],
    [`storage retry ${id} --topic=orders`, 2, /--topic goes with --all-failed/],
    ['storage jobs --status=lost', 2, /--status: got "lost", takes pending, running, done, failed, cancelled/],
    ['storage jobs --limit=0', 2, /--limit: got "0"/],
    ['storage segments orders x', 2, /the partition: got "x"/],
    ['storage segments orders 0 --base=-1', 2, /--base/],
    [`storage cancel ${id}`, 1, /There is no offload job .*\[NOT_FOUND\]/],
    ['storage cancel nothing', 1, /<topic id>:<partition>:<base>/],
    ['storage jobs --topic=unknown', 1, /UNKNOWN_TOPIC_OR_PARTITION/],
    ['storage segments orders 5', 1, /UNKNOWN_TOPIC_OR_PARTITION/],
  ]
  for (const [line, status, err] of cases) {
    const answer = await run(line)
    assert.deepEqual([answer.status, answer.out], [status, ''], line)
    assert.match(answer.err, err, line)
  }
})

test('a broker without a remote tier says which setting switches it on', async t => {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  for (const line of ['storage remote', 'storage jobs', 'storage retry --all-failed']) {
    const { status, err } = await ketch([...line.split(' '), `--url=${url}`])
    assert.equal(status, 1, line)
    assert.match(err, /svc\.storage\.remote\.path is unset \(default\)\. \[REMOTE_TIER_OFF\]/)
  }
})

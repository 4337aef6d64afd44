// Kafka's command-line tools on a topic of the remote tier: its configs, its offsets by name and by time, the size of
// its local part, deletions into its cold part, and a console consumer that reads from its beginning.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeBatch } from '../../src/protocol/records.ts'
import { temporaryFolder } from '../../testing/temporary-folder.ts'
import { startTools, type Tool, toolsAbsence } from '../tools/tools.ts'
import { allCold, inReverse, offsetOf, PLACES, sendAll, startTiered, TIME } from './tiered.ts'

const skip = toolsAbsence() ?? false

const TOPIC = 'orders'
const CONFIGS = ['remote.storage.enable=true', 'local.retention.ms=1', 'retention.ms=-1', 'segment.ms=1']
const FIRST_TIME = 1_700_000_000_000

/** Ten batches of ten records, a second between two records. */
const batches = (from: number) =>
  Array.from({ length: 10 }, (_, b) =>
    encodeBatch(
      Array.from({ length: 10 }, (_, i) => {
        const number = from + b * 10 + i
        return { key: `k${number}`, value: `value ${number}`, timestamp: FIRST_TIME + number * 1000 }
      }),
    ),
  )

test("Kafka's tools make, ask, read and cut a topic of the remote tier", { skip, timeout: 300_000 }, async t => {
  const cleanUp = inReverse(t)
  const broker = await startTiered(cleanUp, (await PLACES.folder(cleanUp)).values)
  const folder = await temporaryFolder(cleanUp, 'ketch-tools-')
  const tools = startTools(cleanUp)
  const run = async (tool: Tool, ...args: string[]) => {
    const printed = await tools.run(tool, ['--bootstrap-server', `127.0.0.1:${broker.port}`, ...args])
    return { ...printed, text: `${printed.out}${printed.err}` }
  }
  const done = async (tool: Tool, ...args: string[]) => {
    const { status, text } = await run(tool, ...args)
    assert.equal(status, 0, text)
    return text
  }
  const offsets = async (time: string | number) => {
    const text = await done('kafka-get-offsets', '--topic', TOPIC, '--time', String(time))
    return new RegExp(`^${TOPIC}:0:(-?\\d*)$`, 'm').exec(text)?.[1] ?? text
  }
  const localBytes = async () => {
    const text = await done('kafka-log-dirs', '--describe', '--topic-list', TOPIC)
    const [, json = '{}'] = /^(\{.*\})$/m.exec(text) ?? []
    return JSON.parse(json).brokers[0].logDirs[0].partitions[0].size
  }
  const alter = (...args: string[]) =>
    run('kafka-configs', '--alter', '--entity-type', 'topics', '--entity-name', TOPIC, ...args)

  const configs = CONFIGS.flatMap(pair => ['--config', pair])
  await done('kafka-topics', '--create', '--topic', TOPIC, ...configs)
  assert.match(await done('kafka-topics', '--describe', '--topic', TOPIC), /remote\.storage\.enable=true/)
  assert.deepEqual([await offsets('latest-tiered'), await offsets('earliest-local'), await localBytes()], ['', '0', 0])

  const wire = await broker.connect()
  await sendAll(wire, TOPIC, 0, batches(0))
  await allCold(wire, TOPIC, 1)
  assert.equal((await alter('--add-config', 'local.retention.ms=-2')).status, 0)
  await sendAll(wire, TOPIC, 0, batches(100))
  const named = async () => ({
    earliest: await offsets('earliest'),
    earliestLocal: await offsets('earliest-local'),
    latest: await offsets('latest'),
    largest: await offsets('max-timestamp'),
  })
  assert.deepEqual(await named(), { earliest: '0', earliestLocal: '100', latest: '200', largest: '199' })
  assert.deepEqual(
    [await offsets(FIRST_TIME), await offsets(FIRST_TIME + 41_500), await offsets(FIRST_TIME + 150_000)],
    ['0', '42', '150'],
  )
  const size = await localBytes()
  const sent = batches(100).reduce((sum, batch) => sum + batch.length, 0)
  assert.ok(size > 0 && size <= sent * 1.5, `only the local part counts: ${size} of ${sent} bytes`)

  const read = await done(
    'kafka-console-consumer',
    ...['--topic', TOPIC, '--from-beginning', '--max-messages', '200', '--timeout-ms', '20000'],
  )
  assert.deepEqual(
    read.split('\n').filter(line => line.startsWith('value ')),
    Array.from({ length: 200 }, (_, i) => `value ${i}`),
  )

  const file = join(folder, 'delete.json')
  await writeFile(file, JSON.stringify({ partitions: [{ topic: TOPIC, partition: 0, offset: 42 }], version: 1 }))
  assert.match(await done('kafka-delete-records', '--offset-json-file', file), /low_watermark: 42/)
  assert.deepEqual(await named(), { earliest: '42', earliestLocal: '100', latest: '200', largest: '199' })
  assert.equal(await offsets(FIRST_TIME), '42')

  const compacted = await alter('--add-config', 'cleanup.policy=compact')
  assert.match(compacted.text, /Remote log storage only supports topics with cleanup.policy=delete/)
  const switchedOff = await alter('--add-config', 'remote.storage.enable=false')
  assert.match(switchedOff.text, /It is invalid to disable remote storage without deleting remote data/)
  const wide = await alter('--add-config', 'retention.ms=1000,local.retention.ms=2000')
  assert.match(wide.text, /local\.retention\.ms/)
  assert.equal(await offsetOf(wire, TOPIC, 0, TIME.earliest), 42)

  const off = await alter('--add-config', 'remote.storage.enable=false,remote.log.delete.on.disable=true')
  assert.equal(off.status, 0, off.text)
  // The records that only the table had are gone with it.
  assert.deepEqual(await named(), { earliest: '100', earliestLocal: '100', latest: '200', largest: '199' })
  await done('kafka-topics', '--delete', '--topic', TOPIC)
})

// The broker as a process on a disk that is full, on a disk that has room again, and on a disk with a flipped bit.

import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR, NONE } from '../src/protocol/errors.ts'
import { initProducerId } from '../src/protocol/messages/init-producer-id.ts'
import { eventually } from '../testing/eventually.ts'
import { batchOf, fetchOne, produceTo, valuesOf } from '../testing/kafka.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { mountSmallDisk, smallDiskAbsence } from '../testing/small-disk.ts'
import { createTopic } from '../testing/topic.ts'
import { connect, type Wire } from '../testing/wire.ts'

/** The broker keeps no records in memory, so every read comes from the disk. */
const COLD = { 'svc.storage.local.tail-cache-bytes': '0' }

async function connectTo(t: TestContext, { port }: BrokerProcess): Promise<Wire> {
  const wire = await connect({ port })
  t.after(() => wire.close())
  return wire
}

/** Returns the values of partition 0 with their offsets; for a batch that cannot be read, its error. */
async function contentsOf(wire: Wire): Promise<string[]> {
  const contents: string[] = []
  for (let offset = 0; ; ) {
    const row = await fetchOne(wire, offset, { maxWaitMs: 0 })
    if (row.errorCode !== NONE) {
      contents.push(`error ${row.errorCode} at ${offset}`)
      if (row.errorCode !== CORRUPT_MESSAGE.code) return contents
      offset++
      continue
    }
    const values = await valuesOf(row)
    if (values.length === 0) return contents
    for (const [at, value] of values) contents.push(`${at} ${value.slice(0, 4)}`)
    offset = values.at(-1)![0] + 1
  }
}

/** Returns a batch of one record of 100 KB that begins with this number. */
const largeBatch = (n: number, options = {}) => batchOf([String(n).padStart(4, '0').padEnd(100_000, 'x')], options)

test('on a full disk writes are refused and reads continue; when there is room again, writes resume by themselves', async t => {
  const absence = smallDiskAbsence()
  if (absence !== null) return t.skip(absence)
  const disk = await mountSmallDisk(t, 32)
  const settings = { ...COLD, 'svc.storage.local.embedded.journal-file-bytes': '1MB' }
  const broker = await startBrokerProcess(t, { folder: join(disk.path, 'data'), settings })
  await createTopic(broker, 't', 4)
  let wire = await connectTo(t, broker)
  const identity = { transactionalId: null, transactionTimeoutMs: 1000, producerId: -1, producerEpoch: -1 }
  const { producerId, producerEpoch } = await wire.send(initProducerId, 4, identity)
  let sent = 0
  const send = async () => {
    const { errorCode, baseOffset } = await produceTo(
      wire,
      largeBatch(sent, { producerId, producerEpoch, baseSequence: sent }),
    )
    if (errorCode === NONE) assert.equal(baseOffset, sent++)
    return errorCode
  }
  const expected = () => Array.from({ length: sent }, (_, i) => `${i} ${String(i).padStart(4, '0')}`)
  for (let i = 0; i < 3; i++) assert.equal(await send(), NONE)

  disk.fill()
  let refusal: number
  do refusal = await send()
  while (refusal === NONE)
  assert.equal(refusal, KAFKA_STORAGE_ERROR.code)
  for (let i = 0; i < 5; i++) assert.equal(await send(), KAFKA_STORAGE_ERROR.code)
  const together = await Promise.all([0, 1, 2, 3, 1, 2, 3].map(index => produceTo(wire, largeBatch(7), { index })))
  assert.deepEqual(new Set(together.map(row => row.errorCode)), new Set([KAFKA_STORAGE_ERROR.code]))
  assert.deepEqual(await contentsOf(wire), expected())

  disk.empty()
  assert.equal(await send(), NONE)
  assert.deepEqual(await contentsOf(wire), expected())

  // The broker is killed and started while the disk is full. It reads, and writes again when there is room.
  disk.fill()
  while ((await send()) === NONE);
  await broker.kill('SIGKILL')
  await broker.start()
  wire = await connectTo(t, broker)
  assert.equal(await send(), KAFKA_STORAGE_ERROR.code)
  assert.deepEqual(await contentsOf(wire), expected())
  disk.empty()
  await eventually('writing resumes', async () => (await send()) === NONE, 60_000)
  assert.deepEqual(await contentsOf(wire), expected())
  assert.equal(await broker.kill('SIGTERM'), 0)
})

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  test(`a bit that flips in the journal before a start after ${signal} costs its batch and no other`, async t => {
    const broker = await startBrokerProcess(t, { settings: COLD })
    await createTopic(broker, 't', 1)
    let wire = await connectTo(t, broker)
    const marks = ['aaaa', 'bbbb', 'cccc', 'dddd', 'eeee']
    for (const mark of marks)
      assert.equal((await produceTo(wire, batchOf([`${mark} ${'-'.repeat(9000)}`]))).errorCode, NONE)
    await broker.kill(signal)
    const [journal] = globSync(join(broker.folder, 'journal-*'))
    const bytes = readFileSync(journal!)
    bytes[bytes.indexOf('cccc ') + 100]! ^= 0x10
    writeFileSync(journal!, bytes)
    await broker.start()
    wire = await connectTo(t, broker)
    const rest = ['0 aaaa', '1 bbbb', `error ${CORRUPT_MESSAGE.code} at 2`, '3 dddd', '4 eeee']
    assert.deepEqual(await contentsOf(wire), rest)
    assert.equal((await produceTo(wire, batchOf(['ffff']))).baseOffset, 5)
    assert.deepEqual(await contentsOf(wire), [...rest, '5 ffff'])
  })
}

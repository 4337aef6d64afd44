// The rows of the table in docs/guides/durability.md for the embedded store, on file systems of their own:
// acknowledged records when the broker is killed and when the power fails, and everything that the guide says about a
// full disk. Each test has the name of its row. A run has each row on one of the two file systems, which the seed
// draws; KETCH_LONG=1 has all rows on both.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { COORDINATOR_NOT_AVAILABLE, KAFKA_STORAGE_ERROR, NONE } from '../src/protocol/errors.ts'
import { deleteRecords } from '../src/protocol/messages/delete-records.ts'
import { deleteTopics } from '../src/protocol/messages/delete-topics.ts'
import { incrementalAlterConfigs } from '../src/protocol/messages/incremental-alter-configs.ts'
import { offsetCommit } from '../src/protocol/messages/offset-commit.ts'
import { drawnBy } from '../testing/at-length.ts'
import { eventually } from '../testing/eventually.ts'
import { batchOf, fetchOne, produceTo, valuesOf } from '../testing/kafka.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { seed } from '../testing/seed.ts'
import { type FileSystem, mountSmallDisk, type SmallDisk, smallDiskAbsence } from '../testing/small-disk.ts'
import { askForTopic, createTopic } from '../testing/topic.ts'
import { connect, type Wire } from '../testing/wire.ts'

const FSYNCS = ['always', 'interval'] as const
const FILE_SYSTEMS = ['ext4', 'tmpfs'] as const
const DISK_MIB = 64
const RECORD_BYTES = 100_000
/** A checkpoint comes at most 5 s after the first change, and frees space then. A busy machine takes longer. */
const FREED_WITHIN_MS = 60_000
const TOPIC_RESOURCE = 2

interface World {
  readonly disk: SmallDisk
  readonly broker: BrokerProcess
  wire: Wire
  /** The number of acknowledged records in partition 0. */
  sent: number
  /** Produces one more record. Resolves to the error code. */
  send(): Promise<number>
  /** Produces until the disk is full. */
  sendUntilFull(): Promise<void>
  /** Ends the broker, starts it on the same disk, and connects. `meanwhile` runs in between. */
  restart(signal: 'SIGTERM' | 'SIGKILL', meanwhile?: () => void): Promise<void>
  /** Asserts that the log has all acknowledged records from an offset on, and no other record. */
  expectAll(from?: number): Promise<void>
}

async function connectTo(t: TestContext, { port }: { readonly port: number }): Promise<Wire> {
  const wire = await connect({ port })
  t.after(() => wire.close())
  return wire
}

const recordAt = (offset: number) => String(offset).padStart(6, '0')

/** Returns the values of partition 0 from an offset on. The last element may be an error. */
async function contentsOf(wire: Wire, from: number): Promise<string[]> {
  const contents: string[] = []
  for (let offset = from; ; ) {
    const row = await fetchOne(wire, offset, { maxWaitMs: 0 })
    if (row.errorCode !== NONE) return [...contents, `error ${row.errorCode} at ${offset}`]
    const values = await valuesOf(row)
    if (values.length === 0) return contents
    for (const [at, value] of values) contents.push(`${at} ${value.slice(0, 6)}`)
    offset = values.at(-1)![0] + 1
  }
}

async function begin(
  t: TestContext,
  fileSystem: FileSystem,
  fsync: string,
  journalFileBytes = '4MB',
): Promise<World | null> {
  const absence = smallDiskAbsence(fileSystem)
  if (absence !== null) {
    t.skip(absence)
    return null
  }
  const disk = await mountSmallDisk(t, DISK_MIB, fileSystem)
  const settings = {
    'svc.storage.local.embedded.journal-file-bytes': journalFileBytes,
    'svc.storage.local.embedded.fsync': fsync,
    // The broker keeps no records in memory, so every read comes from the disk.
    'svc.storage.local.tail-cache-bytes': '0',
    'svc.storage.worker.tick-interval': '1s',
  }
  const broker = await startBrokerProcess(t, { folder: join(disk.path, 'data'), settings })
  await createTopic(broker, 't', 1)
  const world: World = {
    disk,
    broker,
    wire: await connectTo(t, broker),
    sent: 0,
    async send() {
      const { errorCode, baseOffset } = await produceTo(
        world.wire,
        batchOf([recordAt(world.sent).padEnd(RECORD_BYTES, 'x')], {}, Date.now()),
      )
      if (errorCode === NONE) assert.equal(baseOffset, world.sent++)
      return errorCode
    },
    async sendUntilFull() {
      let code: number
      do code = await world.send()
      while (code === NONE)
      assert.equal(code, KAFKA_STORAGE_ERROR.code)
    },
    async restart(signal, meanwhile = () => {}) {
      await broker.kill(signal)
      meanwhile()
      await broker.start()
      world.wire = await connectTo(t, broker)
    },
    async expectAll(from = 0) {
      const expected = Array.from({ length: world.sent - from }, (_, i) => `${from + i} ${recordAt(from + i)}`)
      assert.equal((await contentsOf(world.wire, from)).join('\n'), expected.join('\n'))
    },
  }
  return world
}

async function deleteUpTo({ wire }: World, offset: number): Promise<void> {
  const topics = [{ name: 't', partitions: [{ partitionIndex: 0, offset }] }]
  const answer = await wire.send(deleteRecords, 1, { topics, timeoutMs: 5000 })
  assert.deepEqual(
    answer.topics[0]!.partitions.map(row => row.errorCode),
    [NONE],
  )
}

/** Commits an offset for a group without members. Resolves to the error code. */
async function commit({ wire }: World, groupId: string): Promise<number> {
  const partitions = [{ partitionIndex: 0, committedOffset: 7, committedMetadata: 'x'.repeat(1000) }]
  const answer = await wire.send(offsetCommit, 8, { groupId, memberId: '', topics: [{ name: 't', partitions }] })
  return answer.topics[0]!.partitions[0]!.errorCode
}

async function setConfig({ wire }: World, name: string, value: string): Promise<void> {
  const configs = [{ name, configOperation: 0, value }]
  const answer = await wire.send(incrementalAlterConfigs, 1, {
    resources: [{ resourceType: TOPIC_RESOURCE, resourceName: 't', configs }],
    validateOnly: false,
  })
  assert.deepEqual(
    answer.responses.map(row => row.errorCode),
    [NONE],
  )
}

const sendsAgain = (world: World) =>
  eventually('produce resumes', async () => (await world.send()) === NONE, FREED_WITHIN_MS)

/**
 * Returns whether this run has a row on this file system: rows with even numbers are on one file system, and the others
 * on the other.
 */
function isDrawn(fileSystem: FileSystem, row: number): boolean {
  return drawnBy(seed + row, FILE_SYSTEMS.length, FILE_SYSTEMS).includes(fileSystem)
}

// Each test has a disk and a broker of its own, and most of its time it waits for that disk.
suite('durability on small disks', { concurrency: 4 }, () => {
  for (const [at, fsync] of FSYNCS.entries()) {
    for (const fileSystem of FILE_SYSTEMS) {
      const row = `fsync ${fsync}, on ${fileSystem}`

      if (isDrawn(fileSystem, at))
        test(`${row}, broker killed: nothing acknowledged is lost`, async t => {
          const world = await begin(t, fileSystem, fsync)
          if (world === null) return
          for (let life = 0; life < 2; life++) {
            for (let i = 0; i < 20; i++) assert.equal(await world.send(), NONE)
            await world.restart('SIGKILL')
            await world.expectAll()
          }
        })

      if (isDrawn(fileSystem, at + 1))
        test(`${row}, disk full of our own data: produce is refused, reads go on, deleting records makes room without a restart`, async t => {
          const world = await begin(t, fileSystem, fsync)
          if (world === null) return
          await world.sendUntilFull()
          await world.expectAll()
          const kept = world.sent - 20
          await deleteUpTo(world, kept)
          await sendsAgain(world)
          await world.expectAll(kept)
          // The same works again when the disk is full once more.
          await world.sendUntilFull()
          await deleteUpTo(world, world.sent - 20)
          await sendsAgain(world)
          await world.restart('SIGKILL')
          await world.expectAll(world.sent - 20)
        })
    }

    test(`fsync ${fsync}, on ext4, power loss: ${fsync === 'always' ? 'nothing acknowledged is lost' : 'the log ends at most one interval and one sync before its end'}`, async t => {
      const world = await begin(t, 'ext4', fsync)
      if (world === null) return
      for (let i = 0; i < 60; i++) assert.equal(await world.send(), NONE)
      const covered = world.sent
      if (fsync === 'interval') {
        // More than an interval passes. Records after it may be lost.
        await new Promise(resolve => setTimeout(resolve, 3_000))
        for (let i = 0; i < 20; i++) assert.equal(await world.send(), NONE)
      }
      await world.broker.kill('SIGKILL')
      const folder = join(await world.disk.afterPowerLoss(), 'data')
      const again = await startBrokerProcess(t, { folder })
      const contents = await contentsOf(await connectTo(t, again), 0)
      assert.ok(contents.length >= covered, `${contents.length} of ${covered}`)
      assert.deepEqual(
        contents,
        contents.map((_, offset) => `${offset} ${recordAt(offset)}`),
      )
      assert.equal(await again.kill('SIGTERM'), 0)
    })
  }

  for (const fileSystem of FILE_SYSTEMS) {
    const row = `full disk, on ${fileSystem}`

    for (const [at, signal] of (['SIGTERM', 'SIGKILL'] as const).entries()) {
      if (isDrawn(fileSystem, at))
        test(`${row}, started again after ${signal}: reads go on, topics can be deleted, produce resumes`, async t => {
          const world = await begin(t, fileSystem, 'always')
          if (world === null) return
          await createTopic(world.broker, 'other', 1)
          await world.sendUntilFull()
          // Another program takes all the room that the broker gave back at its end.
          await world.restart(signal, () => world.disk.fill())
          await world.expectAll()
          // The journal keeps the room that it has allocated in advance, which may take one more append.
          await world.sendUntilFull()
          await world.expectAll()
          const answer = await world.wire.send(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 5000 })
          assert.deepEqual(
            answer.responses.map(each => each.errorCode),
            [NONE],
          )
          await createTopic(world.broker, 't', 1)
          world.sent = 0
          await sendsAgain(world)
          for (let i = 0; i < 50; i++) assert.equal(await world.send(), NONE)
          await world.restart('SIGKILL')
          await world.expectAll()
        })
    }

    if (isDrawn(fileSystem, 0))
      test(`${row}, started where not even the reserve is left: reads go on, and a little room is enough to delete`, async t => {
        const world = await begin(t, fileSystem, 'always')
        if (world === null) return
        await world.sendUntilFull()
        await world.restart('SIGKILL', () => {
          rmSync(join(world.broker.folder, 'reserve'))
          world.disk.fill()
        })
        await world.expectAll()
        await world.sendUntilFull()
        await world.restart('SIGKILL', () => world.disk.fill())
        await world.expectAll()
        // This is less room than the reserve needs. The reserve is only for operations that free room.
        world.disk.empty()
        await world.sendUntilFull()
        await deleteUpTo(world, world.sent - 20)
        await sendsAgain(world)
        await world.restart('SIGTERM')
        await world.expectAll(world.sent - 20)
      })

    if (isDrawn(fileSystem, 1))
      test(`${row}, with journal files that may be larger than the disk: deleting records makes room`, async t => {
        const world = await begin(t, fileSystem, 'always', '256MB')
        if (world === null) return
        await world.sendUntilFull()
        await deleteUpTo(world, world.sent - 20)
        await sendsAgain(world)
        await world.restart('SIGKILL')
        await world.expectAll(world.sent - 20)
      })

    if (isDrawn(fileSystem, 2))
      test(`${row}, retention makes room and produce resumes`, async t => {
        const world = await begin(t, fileSystem, 'always')
        if (world === null) return
        await world.sendUntilFull()
        await setConfig(world, 'retention.bytes', String(8 << 20))
        await sendsAgain(world)
        for (let i = 0; i < 300; i++) {
          if ((await world.send()) !== NONE) await sendsAgain(world)
        }
        await world.restart('SIGKILL')
        await world.expectAll(world.sent - 20)
      })

    if (isDrawn(fileSystem, 3))
      test(`${row} of another program that has stopped growing: reads go on, deleting makes room, produce resumes, also after a restart`, async t => {
        const world = await begin(t, fileSystem, 'always')
        if (world === null) return
        for (let i = 0; i < 135; i++) assert.equal(await world.send(), NONE)
        world.disk.fill()
        await world.sendUntilFull()
        // The other program grows for longer than the time between two checkpoints, and takes all room that the broker
        // frees.
        const startedAtMs = performance.now()
        while (performance.now() - startedAtMs < 8_000) {
          world.disk.fill()
          await world.sendUntilFull()
          await new Promise(resolve => setTimeout(resolve, 100))
        }
        await world.expectAll()
        // Deletes all files but the last: room for the reserve and for more records.
        await deleteUpTo(world, 125)
        await sendsAgain(world)
        await world.expectAll(125)

        await world.restart('SIGKILL', () => world.disk.fill())
        await world.expectAll(125)
        await world.sendUntilFull()
        await deleteUpTo(world, world.sent)
        await sendsAgain(world)
        world.disk.empty()
        for (let i = 0; i < 50; i++) assert.equal(await world.send(), NONE)
        await world.restart('SIGTERM')
        await world.expectAll(world.sent - 50)
      })

    if (isDrawn(fileSystem, 4))
      test(`${row} of another program that takes all freed room: produce continues in the files that a deletion has emptied, and a start makes a reserve of them`, async t => {
        const world = await begin(t, fileSystem, 'always')
        if (world === null) return
        const { folder } = world.broker
        const filesOf = (kind: string) => readdirSync(folder).filter(name => name.startsWith(`${kind}-`))
        // Fills two files and most of a third, so that the broker prepares a fourth. The disk is full before the fourth
        // has records.
        while (filesOf('journal').length < 4) assert.equal(await world.send(), NONE)
        // The deletion is written, and its checkpoint has not happened yet.
        const kept = world.sent - 10
        await deleteUpTo(world, kept)
        world.disk.fill()
        await world.sendUntilFull()
        const sendsBesideIt = async () => {
          world.disk.fill()
          return (await world.send()) === NONE
        }
        await eventually('produce resumes', sendsBesideIt, FREED_WITHIN_MS)
        for (let i = 0; i < 10; i++) assert.ok(await sendsBesideIt())
        assert.ok(existsSync(join(folder, 'reserve')))
        await world.expectAll(kept)

        await deleteUpTo(world, world.sent)
        await eventually('two files are emptied', () => filesOf('spare').length >= 2, FREED_WITHIN_MS)
        await world.restart('SIGKILL', () => {
          rmSync(join(folder, 'reserve'))
          world.disk.fill()
        })
        const deleted = world.sent
        await sendsAgain(world)
        for (let i = 0; i < 5; i++) assert.equal(await world.send(), NONE)
        await world.restart('SIGTERM')
        await world.expectAll(deleted)
      })

    if (isDrawn(fileSystem, 5))
      test(`${row}: offsets are committed and topics created until an eighth of the reserve is used, and deletions still work after that`, async t => {
        const world = await begin(t, fileSystem, 'always')
        if (world === null) return
        await world.sendUntilFull()
        world.disk.fill()
        assert.equal(await commit(world, 'g'), NONE)
        assert.equal((await askForTopic(world.broker, 'made', 1)).code, NONE)
        let taken = 0
        for (;;) {
          const codes = new Set(
            await Promise.all(Array.from({ length: 500 }, (_, i) => commit(world, `g${taken + i}`))),
          )
          taken += 500
          if (codes.size === 1 && codes.has(NONE)) continue
          codes.delete(NONE)
          assert.deepEqual([...codes], [COORDINATOR_NOT_AVAILABLE.code])
          break
        }
        assert.equal((await askForTopic(world.broker, 'late', 1)).code, KAFKA_STORAGE_ERROR.code)
        await world.expectAll()
        await deleteUpTo(world, world.sent)
        await sendsAgain(world)
        await eventually('offsets are committed again', async () => (await commit(world, 'g')) === NONE)
      })
  }

  test('a disk that turns read-only: produce is refused with that reason, reads go on, and the broker shuts down cleanly', async t => {
    const world = await begin(t, 'ext4', 'always')
    if (world === null) return
    assert.equal(await world.send(), NONE)
    world.disk.turnReadOnly()
    assert.equal(await world.send(), KAFKA_STORAGE_ERROR.code)
    // The broker gives the reserve up when a checkpoint finds that it cannot write.
    await eventually('a checkpoint waits', () => world.broker.output().includes('the checkpoint waits: '), 60_000)
    await eventually(
      'a further refusal is logged',
      async () => {
        assert.equal(await world.send(), KAFKA_STORAGE_ERROR.code)
        return /cannot write: EROFS: read-only file system, unlink/.test(world.broker.output())
      },
      60_000,
    )
    assert.doesNotMatch(world.broker.output(), /the disk is full/)
    await world.expectAll()
    assert.equal(await world.broker.kill('SIGTERM'), 0, world.broker.output())
  })
})

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { type Disk, realDisk } from './disk.ts'
import { Journal, type JournalFile } from './journal.ts'
import { Reserve } from './reserve.ts'

const FILE_BYTES = 64 << 10
const DISK_BYTES = 1 << 30

interface Options {
  readonly mostSpareBytes?: number
  readonly fileBytes?: number
  readonly reserveBytes?: number
  readonly disk?: Disk
}

interface Opened {
  readonly journal: Journal
  readonly reserve: Reserve
  readonly clock: SimulatedClock
  /** The bytes of the disk that are left for other programs and for the folder. */
  room: number
  spares(): string[]
  journals(): string[]
  /** Lets time pass in small steps until the condition on the folder is true. */
  comes(what: string, condition: () => boolean): Promise<void>
  /** Writes one round to each of `files` files. A round has `bytes` bytes; by default it fills its file. */
  write(files: number, bytes?: number): Promise<JournalFile[]>
  /** Writes like `write`, and then frees all the files at once. */
  writeAndRetire(files: number, bytes?: number): Promise<void>
}

async function open(t: TestContext, options: Options = {}): Promise<Opened> {
  const { fileBytes = FILE_BYTES, mostSpareBytes = DISK_BYTES, reserveBytes = 0 } = options
  const folder = fs.mkdtempSync(join(tmpdir(), 'ketch-journal-'))
  const clock = new SimulatedClock()
  const disk = options.disk ?? realDisk(clock)
  const usableBytes = () => {
    const used = fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(join(folder, name)).size, 0)
    return Promise.resolve(opened.room - used)
  }
  const giveRoom = () => journal.giveRoom()
  const reserve = new Reserve({ disk, folder, bytes: reserveBytes, foundBytes: 0, usableBytes, giveRoom })
  const random = seededRandom(1)
  const onSyncFailed = (error: Error) => assert.fail(error)
  const here = { disk, folder, isHere: () => true, clock, random, reserve, onSyncFailed }
  const journal = new Journal({ ...here, fileBytes, mostSpareBytes })
  t.after(async () => {
    await journal.close()
    fs.rmSync(folder, { recursive: true })
  })
  const filesOf = (kind: string) => fs.readdirSync(folder).filter(name => name.startsWith(`${kind}-`))
  const opened: Opened = {
    journal,
    reserve,
    clock,
    room: DISK_BYTES,
    spares: () => filesOf('spare'),
    journals: () => filesOf('journal'),
    comes: (what, condition) =>
      eventually(what, async () => {
        await clock.advance(0.1)
        return condition()
      }),
    async write(files, bytes = fileBytes) {
      const written = []
      for (let at = 0; at < files; at++) {
        await journal.write([Buffer.alloc(bytes)], bytes)
        written.push(journal.active)
        await journal.roll()
      }
      return written
    },
    async writeAndRetire(files, bytes) {
      for (const file of await opened.write(files, bytes)) journal.retire(file)
    },
  }
  await journal.begin()
  await reserve.make()
  return opened
}

test('of files that are freed at once, a busy store keeps some and an idle store keeps two', async t => {
  const { clock, spares, comes, writeAndRetire } = await open(t)
  await writeAndRetire(20)
  await eventually('eight are kept', () => spares().length === 8)
  await clock.advance(4_900)
  assert.equal(spares().length, 8)
  await clock.advance(200)
  await comes('two are kept', () => spares().length === 2)
  await clock.advance(60_000)
  assert.equal(spares().length, 2)
})

test('spares that are used in time stay, and the others go when their own time is up', async t => {
  const { clock, spares, comes, writeAndRetire } = await open(t)
  await writeAndRetire(12)
  await eventually('eight are kept', () => spares().length === 8)
  await clock.advance(3_000)
  // The newest spares are used first: these are new again, the others are not.
  await writeAndRetire(3)
  await eventually('they are back', () => spares().length >= 7)
  const before = spares().length
  await clock.advance(2_500)
  await comes('the old ones are unlinked', () => spares().length < before)
  assert.ok(spares().length > 2, spares().join(' '))
  await clock.advance(5_000)
  await comes('two are kept', () => spares().length === 2)
})

test('on a small disk, spares beyond two are kept only within a part of the disk', async t => {
  const { spares, writeAndRetire } = await open(t, { mostSpareBytes: 3.5 * FILE_BYTES })
  await writeAndRetire(10)
  await eventually('three are kept', () => spares().length === 3)
})

test('files are unlinked one after the other, with time between them, and the rest at once when the store is closed', async t => {
  const { journal, journals, comes, writeAndRetire } = await open(t)
  await writeAndRetire(20)
  const inUse = 1
  await eventually('one is unlinked', () => journals().length === 12 - 1 + inUse)
  await new Promise(resolve => setTimeout(resolve, 50))
  assert.equal(journals().length, 12 - 1 + inUse, 'no time has passed')
  await comes('two more are unlinked', () => journals().length <= 12 - 3 + inUse)
  assert.ok(journals().length > 2, journals().join(' '))
  await journal.close()
  assert.ok(journals().length <= 2, journals().join(' '))
})

test('the pause after a file was unlinked depends on the size of that file, not of the next one', async t => {
  const { clock, journals, comes, writeAndRetire } = await open(t)
  await writeAndRetire(3, 8 << 20)
  await eventually('one is unlinked', () => journals().length === 3)
  await new Promise(resolve => setTimeout(resolve, 50))
  await clock.advance(3.9)
  await new Promise(resolve => setTimeout(resolve, 50))
  assert.equal(journals().length, 3, '8 MiB take 4 ms')
  await comes('the next is unlinked', () => journals().length === 2)
})

test('a file that is freed in the turn in which the store is closed is unlinked', async t => {
  const { journal, journals, writeAndRetire } = await open(t)
  await writeAndRetire(1, 8 << 20)
  await eventually('it is unlinked', () => journals().length === 1)
  await journal.write([Buffer.alloc(8 << 20)], 8 << 20)
  const last = journal.active
  await journal.roll()
  // Nothing is awaited on the way.
  const handle = await last.handle
  last.handle = null
  await handle!.close()
  journal.retire(last)
  await journal.close()
  assert.deepEqual(journals(), ['journal-0000000003'])
})

test('a closed store leaves two spares for the next start', async t => {
  const { journal, spares, writeAndRetire } = await open(t)
  await writeAndRetire(20)
  await eventually('eight are kept', () => spares().length === 8)
  await journal.close()
  assert.equal(spares().length, 2)
})

test('if the next file has no blocks for a round, the round goes into a spare with a higher number that has them', async t => {
  const { journal, journals, spares, write } = await open(t)
  const written = await write(2)
  const half = FILE_BYTES / 2
  await journal.write([Buffer.alloc(half)], half)
  await eventually('the next file is new', () => journals().length === 4)
  assert.equal(await journal.rollIntoSpare(half), false)
  for (const file of written) journal.retire(file)
  await eventually('there are spares', () => spares().length === 2)
  assert.equal(await journal.rollIntoSpare(2 * FILE_BYTES), false)
  assert.equal(spares().length, 2)
  await eventually('it is taken', () => journal.rollIntoSpare(half))
  assert.deepEqual([journal.active.number, spares().length], [5, 1])
  assert.ok(journal.active.size > FILE_BYTES)
  await eventually('the one that was prepared is unlinked', () => !journals().includes('journal-0000000004'))
})

test('the reserve is created again in the space of the spares and of the prepared next file', async t => {
  const MIB = 1 << 20
  const opened = await open(t, { fileBytes: MIB, reserveBytes: 2 * MIB })
  const { journal, reserve, journals, spares, writeAndRetire } = opened
  await writeAndRetire(3)
  await eventually('there are spares', () => spares().length === 3)
  await journal.write([Buffer.alloc(MIB / 2)], MIB / 2)
  await eventually('the next file is one of them', () => journals().length === 2)
  assert.equal(await reserve.release(), true)
  // Another program takes the space that this freed, and all other space.
  opened.room = 0.5 * MIB + 3 * (MIB + 10_000)
  const isWhole = () => reserve.make().then(() => !reserve.isGone)
  await eventually('the reserve is made', isWhole)
  assert.deepEqual([spares(), journals()], [[], ['journal-0000000004']])
  await writeAndRetire(1, 100)
  assert.equal(journal.active.number, 6)
})

test('a file is not closed while zeros are written ahead in it', async t => {
  const real = realDisk(new SimulatedClock())
  const zeros = Promise.withResolvers<void>()
  let isHeld = false
  let isWriting = false
  let closedMeanwhile = 0
  const disk: Disk = {
    ...real,
    async open(path, create) {
      const file = await real.open(path, create)
      return {
        ...file,
        async write(buffers, position) {
          if (isHeld) {
            isWriting = true
            await zeros.promise
            isWriting = false
          }
          await file.write(buffers, position)
        },
        async close() {
          if (isWriting) closedMeanwhile++
          await file.close()
        },
      }
    },
  }
  const { journal, clock } = await open(t, { disk, fileBytes: 8 << 20 })
  isHeld = true
  journal.ready()
  await clock.advance(1000)
  await eventually('zeros are written', () => isWriting)
  isHeld = false
  const file = journal.active
  await journal.roll()
  journal.retire(file)
  await new Promise(resolve => setTimeout(resolve, 50))
  zeros.resolve()
  await journal.close()
  assert.equal(file.handle, null)
  assert.equal(closedMeanwhile, 0, 'the next file that is opened may get its number')
})

test('zeros that are written ahead never overwrite a round that waited for other zeros', async t => {
  const real = realDisk(new SimulatedClock())
  const MIB = 1 << 20
  const round = Buffer.alloc(10 * MIB, 7)
  const first = Promise.withResolvers<void>()
  const written = Promise.withResolvers<void>()
  let fills = 0
  const disk: Disk = {
    ...real,
    async open(path, create) {
      const file = await real.open(path, create)
      return {
        ...file,
        async write(buffers, position) {
          // Zeros come in pieces of 1 MiB, four of them in each part.
          if (buffers[0]!.length === MIB) await (fills++ < 4 ? first.promise : written.promise)
          await file.write(buffers, position)
        },
      }
    },
  }
  const { journal, clock } = await open(t, { disk, fileBytes: 64 * MIB })
  // As many zeros are written ahead as the file has bytes.
  await journal.write([round, round], 2 * round.length)
  await clock.advance(1000)
  await eventually('zeros are written', () => fills > 0)
  const { number, end } = journal.active
  const writing = journal.write([round], round.length)
  first.resolve()
  await writing
  written.resolve()
  await clock.advance(1000)
  await eventually('two parts are filled', () => fills > 8)
  const found = await journal.read(number, end, round.length)
  assert.ok(found.equals(round))
})

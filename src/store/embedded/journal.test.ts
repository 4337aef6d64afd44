import assert from 'node:assert/strict'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../testing/eventually.ts'
import { SimulatedClock } from '../../../testing/sim/clock.ts'
import { seededRandom } from '../../base/random.ts'
import { realDisk } from './disk.ts'
import { Journal } from './journal.ts'
import { Reserve } from './reserve.ts'

const FILE_BYTES = 64 << 10
const DISK_BYTES = 1 << 30

interface Opened {
  readonly journal: Journal
  readonly clock: SimulatedClock
  spares(): string[]
  journals(): string[]
  /** Lets time pass, a little at a time, until the folder looks so. */
  comes(what: string, condition: () => boolean): Promise<void>
  /** Writes so many files full and gives all of them up at once. */
  writeAndRetire(files: number): Promise<void>
}

async function open(t: TestContext, mostSpareBytes = DISK_BYTES): Promise<Opened> {
  const folder = fs.mkdtempSync(join(tmpdir(), 'ketch-journal-'))
  const clock = new SimulatedClock()
  const disk = realDisk(clock)
  const usableBytes = () => Promise.resolve(DISK_BYTES)
  const journal = new Journal({
    disk,
    folder,
    isHere: () => true,
    fileBytes: FILE_BYTES,
    mostSpareBytes,
    clock,
    random: seededRandom(1),
    reserve: new Reserve({ disk, folder, bytes: 0, foundBytes: 0, usableBytes }),
    onSyncFailed: error => assert.fail(error),
  })
  await journal.begin()
  t.after(async () => {
    await journal.close()
    fs.rmSync(folder, { recursive: true })
  })
  const filesOf = (kind: string) => fs.readdirSync(folder).filter(name => name.startsWith(`${kind}-`))
  return {
    journal,
    clock,
    spares: () => filesOf('spare'),
    journals: () => filesOf('journal'),
    comes: (what, condition) =>
      eventually(what, async () => {
        await clock.advance(0.1)
        return condition()
      }),
    async writeAndRetire(files) {
      const written = []
      for (let at = 0; at < files; at++) {
        await journal.write([Buffer.alloc(FILE_BYTES)], FILE_BYTES)
        written.push(journal.active)
        await journal.roll()
      }
      for (const file of written) journal.retire(file)
    },
  }
}

test('of the files that are given up at once some are kept for a busy store, and two for one at rest', async t => {
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
  // The newest are used first: these are young again, the others are not.
  await writeAndRetire(3)
  await eventually('they are back', () => spares().length >= 7)
  const before = spares().length
  await clock.advance(2_500)
  await comes('the old ones are unlinked', () => spares().length < before)
  assert.ok(spares().length > 2, spares().join(' '))
  await clock.advance(5_000)
  await comes('two are kept', () => spares().length === 2)
})

test('on a small disk no spare is kept beyond two that would not fit its part', async t => {
  const { spares, writeAndRetire } = await open(t, 3.5 * FILE_BYTES)
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

// The folder on a disk that is full, and while its process is killed.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { NODE_FLAGS } from '../../../scripts/node24.mjs'
import { endWithUs } from '../../../testing/end-with-us.ts'
import { eventually } from '../../../testing/eventually.ts'
import { mountSmallDisk, smallDiskAbsence } from '../../../testing/small-disk.ts'
import { temporaryFolder } from '../../../testing/temporary-folder.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { openFolder } from './folder.ts'
import { ObjectStoreError } from './objects.ts'

const deps = { clock: systemClock, random: systemRandom, warn: assert.fail }

for (const fileSystem of ['tmpfs', 'ext4'] as const)
  test(`a full ${fileSystem} is said to be full, keeps its objects, and takes new ones when it has room`, async t => {
    const absence = smallDiskAbsence(fileSystem)
    if (absence !== null) return t.skip(absence)
    const disk = await mountSmallDisk(t, 16, fileSystem)
    const folder = join(disk.path, 'place')
    const objects = await openFolder(folder, deps)
    t.after(() => objects.close())
    await objects.write('a', Buffer.alloc(100_000, 1))
    disk.fill()
    const isFull = (error: unknown) => {
      assert.ok(error instanceof ObjectStoreError && error.kind === 'full', String(error))
      assert.match(error.message, /the disk is full \(ENOSPC\)/)
      return true
    }
    const large = Buffer.alloc(20 << 20, 2)
    await assert.rejects(objects.write('b', large), isFull)
    await assert.rejects(objects.create('c', large), isFull)
    await assert.rejects(objects.replace('a', large), isFull)
    assert.deepEqual(await readdir(folder), ['a'])
    assert.ok(Buffer.alloc(100_000, 1).equals((await objects.read('a'))!))
    disk.empty()
    assert.equal(await objects.create('c', Buffer.alloc(1_000_000, 3)), 'created')
    await objects.delete(['a', 'c'])
    assert.deepEqual(await Array.fromAsync(objects.list('')), [])
  })

test('a process that is killed in a write leaves no part of an object', async t => {
  const folder = await temporaryFolder(t, 'ketch-objects-')
  const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  const program = `
    import { openFolder } from ${url('./folder.ts')}
    import { systemClock } from ${url('../../base/clock.ts')}
    import { systemRandom } from ${url('../../base/random.ts')}
    const objects = await openFolder(${JSON.stringify(folder)}, { clock: systemClock, random: systemRandom, warn: console.error })
    await objects.write('data/whole', new Uint8Array(1_000_000))
    await objects.write('data/half', (async function* () {
      yield new Uint8Array(1_000_000)
      console.log('half')
      await new Promise(resolve => setTimeout(resolve, 60_000))
    })())
  `
  const child = spawn(process.execPath, [...NODE_FLAGS, '--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWithUs(child)
  const gone = once(child, 'close')
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  await eventually('half of the object is written', () => output.includes('half'))
  child.kill('SIGKILL')
  await gone
  assert.equal((await readdir(join(folder, 'data'))).length, 2)
  const objects = await openFolder(folder, deps)
  t.after(() => objects.close())
  assert.deepEqual(
    (await Array.fromAsync(objects.list(''))).map(({ key, size }) => `${key} ${size}`),
    ['data/whole 1000000'],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PromptClock } from '../../../testing/iceberg-table.ts'
import { ENDLESS, patience } from '../../base/patience.ts'
import { seededRandom } from '../../base/random.ts'
import { EncoderMemory, type FileMemory, threadBytesOf } from './encoder-memory.ts'

const MB = 1e6

test('there is room until the limit; then the file with the largest group closes it, and the others wait', async () => {
  const memory = new EncoderMemory(10 * MB)
  const [large, small] = [memory.open(), memory.open()]
  assert.equal(await large.room(MB, ENDLESS), 'add')
  assert.ok(memory.usedBytes >= MB, 'the bytes of a call count while it runs')
  large.held(6 * MB, 0, false)
  small.held(3 * MB, 0, false)
  let answer = ''
  const waiting = small.room(2 * MB, ENDLESS).then(decision => {
    answer = decision
  })
  assert.equal(await large.room(2 * MB, ENDLESS), 'close')
  assert.equal(answer, '')
  // The bytes of the group are on their way to the store.
  large.held(MB, 4 * MB, true)
  assert.equal(memory.usedBytes, 8 * MB)
  large.left(4 * MB)
  await waiting
  assert.equal(answer, 'add')
  large.end()
  small.end()
  assert.equal(memory.usedBytes, 0)
})

test('a file makes several calls at once while there is room for them', async () => {
  const memory = new EncoderMemory(12 * MB)
  const file = memory.open()
  assert.equal(await file.room(MB, ENDLESS), 'add')
  const one = memory.usedBytes
  assert.equal(file.tryRoom(MB), true)
  assert.equal(memory.usedBytes, 2 * one)
  file.held(3 * MB, 0, false)
  assert.equal(memory.usedBytes, 3 * MB + one, 'the second call runs')
  file.held(11 * MB, 0, false)
  assert.equal(memory.usedBytes, 11 * MB)
  assert.equal(file.tryRoom(MB), false)
  assert.equal(memory.usedBytes, 11 * MB)
})

test('a file that becomes the largest while it waits closes its group', async () => {
  const memory = new EncoderMemory(10 * MB)
  const [large, small] = [memory.open(), memory.open()]
  large.held(7 * MB, 0, false)
  small.held(3 * MB, 0, false)
  const waiting = small.room(2 * MB, ENDLESS)
  large.held(MB, 5 * MB, true)
  assert.equal(await waiting, 'close')
})

test('if no group can be closed, the bound gives way instead of the files', async () => {
  const memory = new EncoderMemory(MB)
  const file = memory.open()
  file.held(2 * MB, 0, true)
  assert.equal(await file.room(MB, ENDLESS), 'add')
})

test('a thread counts as memory until its file is finished', async () => {
  const memory = new EncoderMemory(10 * MB, 3 * MB)
  const [one, other] = [memory.open(), memory.open()]
  assert.equal(memory.usedBytes, 6 * MB)
  one.held(3 * MB, 0, false)
  assert.equal(await one.room(0, ENDLESS), 'close')
  other.finished()
  assert.equal(memory.usedBytes, 6 * MB)
  assert.equal(await one.room(0, ENDLESS), 'add')
})

test('threads count as half of the memory at most', () => {
  const MiB = 2 ** 20
  assert.equal(threadBytesOf(512 * MiB, 4), 64 * MiB)
  assert.equal(threadBytesOf(64 * MiB, 4), 8 * MiB)
  assert.equal(threadBytesOf(512 * MiB, 8), 32 * MiB)
})

test('a file that waits goes on when its holder stops', async () => {
  const memory = new EncoderMemory(MB)
  const stop = new AbortController()
  const until = patience(new PromptClock(), Number.POSITIVE_INFINITY, stop.signal)
  const [large, small] = [memory.open(), memory.open()]
  large.held(5 * MB, 0, false)
  const waiting = small.room(MB, until)
  stop.abort()
  assert.equal(await waiting, 'add')
})

test('files of any sizes never wait for each other for ever, and stay below the bound', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(seed)
    const memory = new EncoderMemory(20 * MB)
    let most = 0
    const turn = () => new Promise(resolve => setImmediate(resolve))
    const work = async (file: FileMemory) => {
      // An encoder keeps some memory for its next group.
      const idle = MB / 10
      let held = idle
      file.held(held, 0, true)
      for (let step = 0; step < 60; step++) {
        while ((await file.room(MB, ENDLESS)) === 'close') {
          file.held(idle, held - idle, true)
          for (let left = held - idle; left > 0; left -= MB / 2) {
            await turn()
            file.left(Math.min(left, MB / 2))
          }
          held = idle
        }
        most = Math.max(most, memory.usedBytes)
        if (random.below(2) === 0) await turn()
        held += random.below(MB)
        file.held(held, 0, false)
      }
      file.end()
    }
    await Promise.all(Array.from({ length: 6 }, () => work(memory.open())))
    assert.equal(memory.usedBytes, 0)
    assert.ok(most <= 20 * MB, `${most} bytes with seed ${seed}`)
  }
})

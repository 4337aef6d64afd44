import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchesIn, HANDED_BYTES, HandedMemory } from './handed.ts'
import { PageMemory, SLAB_BYTES } from './page-memory.ts'

test('the pages of a small chunk are lent, and their memory is used again', () => {
  const memory = new PageMemory()
  memory.add(3).fill(1)
  memory.add(2).fill(2)
  assert.equal(memory.bytes, 5)
  const { parts, isLent } = memory.take()
  assert.equal(isLent, true)
  assert.deepEqual(Buffer.concat(parts), Buffer.from([1, 1, 1, 2, 2]))
  assert.equal(memory.bytes, 0)
  assert.equal(memory.add(1).buffer, parts[0]!.buffer)
  memory.take()
  memory.end()
  assert.equal(parts[0]!.buffer.byteLength, 0)
})

test('the pages of a large chunk lie in slabs of its own', () => {
  const memory = new PageMemory()
  const pages = Array.from({ length: 30 }, (_, i) => memory.add(300_000).fill(i))
  const large = memory.add(SLAB_BYTES + 1)
  const { parts, isLent } = memory.take()
  assert.equal(isLent, false)
  assert.deepEqual(
    parts.map(({ length }) => length),
    [13 * 300_000, 13 * 300_000, 4 * 300_000, SLAB_BYTES + 1],
  )
  assert.equal(new Set(parts.map(({ buffer }) => buffer)).size, parts.length)
  assert.ok(Buffer.concat(parts).equals(Buffer.concat([...pages, large])))
  assert.ok(!parts.some(({ buffer }) => buffer === memory.add(1).buffer))
})

test('batches are handed over in copies, whose memory is used again', () => {
  const memory = new HandedMemory()
  const batches = [Buffer.from('one'), Buffer.alloc(0), Buffer.from('three')]
  const handed = memory.copy(batches)
  assert.equal(handed.bytes, 8)
  assert.deepEqual(
    batchesIn(handed).map(String),
    batches.map(each => String(new Uint8Array(each))),
  )
  memory.keep(handed.memory)
  assert.equal(memory.copy([Buffer.from('next')]).memory, handed.memory)
  const large = memory.copy([Buffer.alloc(HANDED_BYTES + 1, 7)])
  assert.equal(large.bytes, HANDED_BYTES + 1)
  memory.keep(large.memory)
  assert.notEqual(memory.copy(batches).memory, large.memory)
})

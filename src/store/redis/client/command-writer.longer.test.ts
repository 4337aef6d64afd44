import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../testing/property.ts'
import { CommandWriter } from './command-writer.ts'
import type { Argument } from './links.ts'

/** Returns the bytes of the commands by a simple, slow implementation. */
function plainly(commands: readonly (readonly Argument[])[]): Buffer {
  const parts = commands.flatMap(command => [
    Buffer.from(`*${command.length}\r\n`),
    ...command.flatMap(argument => {
      const bytes = Buffer.from(argument as Uint8Array)
      return [Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]
    }),
  ])
  return Buffer.concat(parts)
}

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 100 }), fc.string({ maxLength: 5 }))
const bytes = fc
  .tuple(fc.oneof(fc.nat(20), fc.integer({ min: 4090, max: 4100 }), fc.nat(70_000)), fc.nat(255))
  .map(([length, fill]) => new Uint8Array(length).fill(fill))
const command = fc.array(fc.oneof(text, bytes), { minLength: 1, maxLength: 12 })

test('the joined pieces of any commands are the bytes that the protocol requires', () => {
  fc.assert(
    fc.property(fc.array(fc.array(command, { maxLength: 8 }), { maxLength: 4 }), turns => {
      const writer = new CommandWriter()
      for (const commands of turns) {
        for (const each of commands) writer.add(each)
        assert.ok(Buffer.concat(writer.take()).equals(plainly(commands)))
        writer.reuse()
      }
    }),
  )
})

test('small commands of one turn are one piece, and large arguments are not copied', () => {
  const writer = new CommandWriter()
  for (let at = 0; at < 50; at++) writer.add(['SET', `k${at}`, Buffer.alloc(1000)])
  assert.equal(writer.take().length, 1)
  const large = Buffer.alloc(4096, 'x')
  writer.add(['SET', 'k', large])
  writer.add(['EXEC'])
  const pieces = writer.take()
  assert.equal(pieces.length, 3)
  assert.equal(pieces[1], large)
  assert.deepEqual(writer.take(), [])
})

test('memory is used again after reuse()', () => {
  const writer = new CommandWriter()
  const places = Array.from({ length: 100 }, () => {
    writer.add(['SET', 'k', Buffer.alloc(4000)])
    const [piece] = writer.take()
    writer.reuse()
    return piece!.buffer
  })
  assert.equal(new Set(places).size, 1)
})

test('pieces that were taken do not change before reuse()', () => {
  const writer = new CommandWriter()
  const taken: { pieces: readonly Uint8Array[]; expected: Buffer }[] = []
  for (let at = 0; at < 300; at++) {
    const set = ['SET', `k${at}`, Buffer.alloc(at * 10, at)]
    writer.add(set)
    taken.push({ pieces: writer.take(), expected: plainly([set]) })
  }
  for (const { pieces, expected } of taken) assert.ok(Buffer.concat(pieces).equals(expected))
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FrameFault, FrameSplitter, requestFrames } from './frame.ts'

const MAX = 4 * 1024 * 1024

/** A splitter that remembers what it reported. */
function observe(rule = () => requestFrames(MAX)) {
  const frames: Buffer[] = []
  const faults: FrameFault[] = []
  let heldBytes = 0
  let mostHeldBytes = 0
  const splitter = new FrameSplitter(rule, {
    frame(bytes) {
      heldBytes -= bytes.byteLength
      frames.push(bytes)
      return true
    },
    fault: fault => faults.push(fault),
    held(deltaBytes) {
      heldBytes += deltaBytes
      mostHeldBytes = Math.max(mostHeldBytes, heldBytes)
    },
  })
  return {
    splitter,
    frames,
    faults,
    held: () => heldBytes,
    mostHeld: () => mostHeldBytes,
    reasonOf(bytes: Uint8Array): string | undefined {
      splitter.push(bytes)
      return faults[0]?.reason
    },
  }
}

function framed(body: Uint8Array): Buffer {
  const size = Buffer.alloc(4)
  size.writeInt32BE(body.length)
  return Buffer.concat([size, body])
}

function sizeOf(size: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(size)
  return bytes
}

const bodies = [8, 9, 64, 1000, 70_000].map((length, at) => Buffer.alloc(length, at + 1))

test('frames are complete, whatever pieces they arrive in', () => {
  const stream = Buffer.concat(bodies.map(framed))
  for (const piece of [1, 3, 7, 64, 1460, 65_536, stream.length]) {
    const { splitter, frames, held } = observe()
    for (let at = 0; at < stream.length; at += piece) splitter.push(stream.subarray(at, at + piece))
    assert.deepEqual(frames, bodies, `in pieces of ${piece}`)
    assert.equal(held(), 0)
    assert.equal(splitter.incomplete, false)
  }
})

test('each frame has an ArrayBuffer of its own and of its size, and the chunk may be used again', () => {
  const { splitter, frames } = observe()
  const chunk = Buffer.concat(bodies.map(framed))
  splitter.push(chunk)
  chunk.fill(0xee)
  assert.deepEqual(frames, bodies)
  for (const frame of frames) assert.equal(frame.buffer.byteLength, frame.byteLength)
})

test('a frame of exactly the largest size passes, and one that is a byte larger is refused after four bytes with nothing allocated', () => {
  const largest = observe(() => requestFrames(100))
  largest.splitter.push(framed(Buffer.alloc(100)))
  assert.equal(largest.frames.length, 1)
  for (const size of [101, 0x7fffffff]) {
    const { splitter, faults, mostHeld } = observe(() => requestFrames(100))
    const bytes = sizeOf(size)
    splitter.push(bytes.subarray(0, 3))
    assert.equal(faults.length, 0)
    splitter.push(bytes.subarray(3))
    assert.equal(faults[0]!.reason, 'too-large')
    assert.equal(mostHeld(), 0)
  }
})

test('a size below zero or below any header is a fault', () => {
  for (const size of [-1, -2_147_483_648]) assert.equal(observe().reasonOf(sizeOf(size)), 'negative-size')
  for (let size = 0; size < 8; size++) assert.equal(observe().reasonOf(sizeOf(size)), 'short-frame')
})

test('greetings of other protocols are named', () => {
  const greetings: [string, string][] = [
    ['GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'http'],
    ['POST /topics HTTP/1.1\r\n', 'http'],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'http'],
    ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'tls'],
    ['SSH-2.0-OpenSSH_9.6\r\n', 'ssh'],
    ['PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n', 'proxy-protocol'],
    ['\r\n\r\n\x00\r\nQUIT\n', 'proxy-protocol'],
  ]
  for (const [greeting, reason] of greetings) {
    assert.equal(observe().reasonOf(Buffer.from(greeting, 'latin1')), reason, greeting)
  }
})

test('the message of a fault has nothing that the client sent', () => {
  const { splitter, faults } = observe()
  splitter.push(Buffer.from('GET /secret HTTP/1.1\r\n'))
  assert.doesNotMatch(faults[0]!.message, /secret/)
})

test('a receiver that wants no further frame gets the rest when it is pushed again', () => {
  const stream = Buffer.concat(bodies.map(framed))
  const frames: Buffer[] = []
  const splitter = new FrameSplitter(() => requestFrames(MAX), {
    frame: bytes => frames.push(bytes) < 0,
    fault: () => assert.fail('there is no fault'),
    held() {},
  })
  let at = 0
  for (const [i, body] of bodies.entries()) {
    at += splitter.push(stream.subarray(at))
    assert.equal(frames.length, i + 1)
    assert.deepEqual(frames[i], body)
  }
  assert.equal(at, stream.length)
})

test('after a fault nothing more is split', () => {
  const { splitter, frames, faults } = observe()
  splitter.push(Buffer.concat([sizeOf(-1), framed(Buffer.alloc(20))]))
  splitter.push(framed(Buffer.alloc(20)))
  assert.equal(frames.length, 0)
  assert.equal(faults.length, 1)
})

test('a large frame is allocated as it arrives, with at most twice the bytes that arrived and a megabyte', () => {
  const size = 3_500_000
  const body = Buffer.alloc(size, 7)
  const { splitter, frames, held } = observe()
  const stream = framed(body)
  for (let at = 0; at < stream.length; at += 50_000) {
    splitter.push(stream.subarray(at, at + 50_000))
    assert.ok(held() <= 2 * (at + 50_000) + 1024 * 1024, `held ${held()} after ${at} bytes`)
  }
  assert.deepEqual(frames[0], body)
  assert.equal(frames[0]!.buffer.byteLength, size)
})

test('stopping releases the incomplete frame', () => {
  const { splitter, frames, held } = observe()
  splitter.push(framed(Buffer.alloc(1000)).subarray(0, 500))
  assert.equal(held(), 1000)
  assert.equal(splitter.incomplete, true)
  splitter.stop()
  assert.equal(held(), 0)
  splitter.push(Buffer.alloc(600))
  assert.equal(frames.length, 0)
})

test('a splitter that is stopped while it reports memory takes nothing more', () => {
  const frames: Buffer[] = []
  const splitter: FrameSplitter = new FrameSplitter(() => requestFrames(MAX), {
    frame: bytes => frames.push(bytes) > 0,
    fault: () => assert.fail('there is no fault'),
    held(deltaBytes) {
      if (deltaBytes > 0) splitter.stop()
    },
  })
  splitter.push(framed(Buffer.alloc(100)))
  assert.equal(frames.length, 0)
})

test('an empty frame is handed over if the rule allows it, and the rule is asked anew for each frame', () => {
  const rules = [{ ...requestFrames(MAX), least: 0 }, { ...requestFrames(MAX), least: 0 }, requestFrames(MAX)]
  const { splitter, frames, faults } = observe(() => rules.shift()!)
  splitter.push(Buffer.concat([sizeOf(0), framed(Buffer.from('abc')), sizeOf(0)]))
  assert.deepEqual(frames.map(String), ['', 'abc'])
  assert.deepEqual(
    faults.map(({ reason }) => reason),
    ['short-frame'],
  )
})

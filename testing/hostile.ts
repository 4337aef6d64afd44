// Damaged requests, as a broken or hostile client sends them: requests that the Java client made, changed at random places
// from a seed. They reach whatever listens on a port of this machine; what must hold afterwards is for the test to say.

import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { type Random, seededRandom } from '../src/base/random.ts'
import { requestHeader } from '../src/protocol/header.ts'
import { messages } from '../src/protocol/messages/all.ts'

export interface Attack {
  /** Requests sent so far. */
  readonly sent: number
  /** Sends so many more, and resolves when every connection that carried them is closed. */
  send(count: number): Promise<void>
}

/** The first malformed request of a connection closes it; the others of the four are answered or parked. */
const PER_CONNECTION = 4

export function createAttack(port: number, seed: number): Attack {
  const random = seededRandom(seed)
  const frames = corpus()
  let sent = 0

  function one(): Promise<void> {
    return new Promise(resolve => {
      const socket = connect({ port, host: '127.0.0.1' }, () => {
        for (let i = 0; i < PER_CONNECTION; i++, sent++) {
          const body = mutate(frames[random.below(frames.length)]!, random)
          const size = Buffer.alloc(4)
          size.writeInt32BE(body.length)
          socket.write(Buffer.concat([size, body]))
        }
        socket.end()
      })
      socket.on('data', () => {})
      // A reset is one of the broker's ways to refuse.
      socket.on('error', () => {})
      socket.on('close', () => resolve())
    })
  }

  return {
    get sent() {
      return sent
    },
    async send(count) {
      await Promise.all(Array.from({ length: Math.ceil(count / PER_CONNECTION) }, one))
    },
  }
}

/** Requests that the Java client made: header and body, without their size. */
function corpus(): Buffer[] {
  const lines = readFileSync(new URL('../src/protocol/golden/frames.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.flatMap(line => {
    const { message, version, hex } = JSON.parse(line) as { message: string; version: number; hex: string }
    const api = messages.find(each => each.request.name === message)
    return api === undefined ? [] : [Buffer.concat([requestHeader(api, version, 1, 'fuzz'), Buffer.from(hex, 'hex')])]
  })
}

function mutate(original: Buffer, random: Random): Buffer {
  let bytes = Buffer.from(original)
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = random.below(bytes.length)
    switch (random.below(5)) {
      case 0:
        bytes[at]! ^= 1 << random.below(8)
        break
      case 1:
        bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)]!
        break
      case 2:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(Math.min(bytes.length, at + 1 + random.below(8)))])
        break
      case 3:
        bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(8)), bytes.subarray(at)])
        break
      default:
        bytes.fill(random.below(2) * 0xff, at, Math.min(bytes.length, at + 1 + random.below(6)))
    }
    if (bytes.length < 10) return Buffer.from(original)
  }
  return bytes
}

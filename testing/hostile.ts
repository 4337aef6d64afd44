// Damaged requests, as a broken or hostile client sends them: requests of real clients, changed at random places from a
// seed. They reach whatever listens on a port of this machine; what must hold afterwards is for the test to say.

import { connect } from 'node:net'
import { seededRandom } from '../src/base/random.ts'
import { capturedFrames, goldenFrames, joinFrames } from './corpus.ts'
import { mutate } from './mutation.ts'

export interface Attack {
  /** Requests sent so far. */
  readonly sent: number
  /** Sends this many more, and resolves when every connection that carried them is closed. */
  send(count: number): Promise<void>
}

/** The first malformed request of a connection closes it; the others of the four are answered or parked. */
const PER_CONNECTION = 4

/** One in this many has its size damaged too. */
const DAMAGED_STREAMS = 8

export function createAttack(port: number, seed: number): Attack {
  const random = seededRandom(seed)
  const frames = [...capturedFrames(), ...goldenFrames()]
  const any = () => frames[random.below(frames.length)]!
  let sent = 0

  function one(): Promise<void> {
    const damaged = Array.from({ length: PER_CONNECTION }, () => mutate(any(), random, any()))
    const stream = joinFrames(damaged)
    return new Promise(resolve => {
      const socket = connect({ port, host: '127.0.0.1' }, () => {
        socket.end(random.below(DAMAGED_STREAMS) === 0 ? mutate(stream, random) : stream)
      })
      sent += PER_CONNECTION
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

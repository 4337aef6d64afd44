// Sends damaged requests, as a broken or hostile client does: requests of real clients, changed at random places from
// a seed. They go to any server on a port of this machine; the test decides what must hold afterwards.

import { connect } from 'node:net'
import { seededRandom } from '../src/base/random.ts'
import { capturedFrames, goldenFrames, joinFrames } from './corpus.ts'
import { mutate } from './mutation.ts'

export interface Attack {
  /** Requests sent so far. */
  readonly sent: number
  /** Sends this many more requests, and resolves when all their connections are closed. */
  send(count: number): Promise<void>
}

/** Requests in a connection. The first malformed one closes the connection; the broker answers or parks the others. */
const PER_CONNECTION = 4

/** One of this many streams is also damaged as a whole, so that its sizes may be wrong too. */
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
      // The broker may refuse with a reset.
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

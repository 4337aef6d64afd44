import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heldLoop } from '../../testing/sim/held-loop.ts'
import { systemClock } from './clock.ts'
import { LoopShare } from './loop-share.ts'

test('work begins at once until the share of the turn is used; the rest waits for the next turns, in order', async () => {
  const { clock, heldMs, hold } = heldLoop()
  const share = new LoopShare(clock, 1)
  const order: number[] = []
  const begun: boolean[] = []
  const work = async (i: number) => {
    if (share.begin()) {
      begun.push(true)
      hold(0.4)
      order.push(i)
      share.end()
      return
    }
    begun.push(false)
    const others = share.turn()
    if (others !== undefined) await others
    hold(0.4)
    order.push(i)
  }
  await Promise.all(Array.from({ length: 10 }, (_, i) => work(i)))
  assert.deepEqual(begun, [true, true, true, ...Array(7).fill(false)])
  assert.deepEqual(
    order,
    Array.from({ length: 10 }, (_, i) => i),
  )
  // One piece may begin before the end of the share and end after it.
  assert.ok(heldMs.size >= 4 && [...heldMs.values()].every(ms => ms <= 1.21), JSON.stringify([...heldMs]))
})

test('a long piece gives way when its share is used, and waits behind those that came before', async () => {
  const { clock, heldMs, hold } = heldLoop()
  const share = new LoopShare(clock, 1)
  const order: string[] = []
  const work = async (name: string, steps: number) => {
    const isBegun = share.begin()
    let first: Promise<void> | undefined
    let at = 0
    const go = () => {
      for (; at < steps; at++) {
        const others = share.turn()
        if (others !== undefined) return others
        hold(0.25)
        order.push(name)
      }
      return undefined
    }
    try {
      first = isBegun ? go() : share.turn()
    } finally {
      if (isBegun) share.end()
    }
    for (let others = first; others !== undefined; others = go()) await others
  }
  await Promise.all([work('a', 10), work('b', 6)])
  assert.equal(order.join(''), 'aaaaaaaabbbbaabb')
  assert.ok(
    [...heldMs.values()].every(ms => ms <= 1),
    JSON.stringify([...heldMs]),
  )
})

test('work outside a piece goes into the line, also if the line is empty', async () => {
  const share = new LoopShare(systemClock, 1)
  const others = share.turn()
  assert.ok(others instanceof Promise)
  await others
  assert.equal(share.turn(), undefined)
})

// Chaos that has never been red proves nothing: with each safeguard switched off, a run that the whole store passes is red.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { noRedis as skip } from '../../../testing/redis.ts'
import { REPLICATED_FAULTS, UNCONFIRMED_FAULTS } from './fail-over-faults.ts'
import { ALONE_FAULTS } from './faults.ts'
import { type Fault, runRound } from './round.ts'
import { openAlone, openReplicated, type RedisScene } from './scene.ts'

const timeout = 240_000
const SEED = 5

function without(safeguard: string): readonly string[] {
  const url = pathToFileURL(fileURLToPath(new URL('./without.ts', import.meta.url)))
  url.search = safeguard
  return [`--import=${url.href}`]
}

const aloneFault = (name: string) => ALONE_FAULTS.find(fault => fault.name === name)!

/** Rounds of one fault until one is red; the message of that. */
async function redRound<S extends RedisScene>(scene: S, fault: Fault<S>, rounds: number): Promise<string> {
  for (let number = 1; number <= rounds; number++) {
    try {
      await runRound(scene, number, fault)
    } catch (error) {
      return (error as Error).message
    }
  }
  return ''
}

test('without WAIT, a fail-over loses what was acknowledged', { skip, timeout }, async t => {
  const scene = await openReplicated(t, { seed: SEED, waitReplicas: 1, nodeFlags: without('wait') })
  assert.match(await redRound(scene, REPLICATED_FAULTS[0]!, 3), /lost-write|unseen|refused for good/)
})

test('without the floor, offsets that were lost hold other values', { skip, timeout }, async t => {
  const scene = await openReplicated(t, { seed: SEED, waitReplicas: 0, nodeFlags: without('floor') })
  assert.match(await redRound(scene, UNCONFIRMED_FAULTS[0]!, 3), /inconsistent-offsets|OFFSET_OUT_OF_RANGE/)
})

test('without the visibility rule, consumers read what a fail-over takes back', { skip, timeout }, async t => {
  const scene = await openReplicated(t, { seed: SEED, waitReplicas: 1, nodeFlags: without('visibility') })
  assert.match(
    await redRound(scene, REPLICATED_FAULTS[0]!, 3),
    /hole|OFFSET_OUT_OF_RANGE|where the store holds nothing|inconsistent-offsets/,
  )
})

test('without the attempt id, an append whose answer was lost is made twice', { skip, timeout }, async t => {
  const scene = await openAlone(t, { seed: SEED, nodeFlags: without('attempt') })
  assert.match(await redRound(scene, aloneFault('replies of Redis that get lost'), 6), /duplicate/)
})

test('without the arm, an entry of a stranger passes for one that was refused', { skip, timeout }, async t => {
  const scene = await openAlone(t, { seed: SEED, nodeFlags: without('arm') })
  assert.notEqual(await redRound(scene, aloneFault('entries of a stranger'), 2), '')
})

test('without the compare and the check of the incarnation, a loss goes unnoticed', { skip, timeout }, async t => {
  const scene = await openReplicated(t, { seed: SEED, waitReplicas: 0, nodeFlags: without('compare-and-incarnation') })
  assert.match(await redRound(scene, UNCONFIRMED_FAULTS[0]!, 3), /no epoch began there|still led by epoch|inconsistent/)
})

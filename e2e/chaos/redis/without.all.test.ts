// Proves that chaos can fail: with each safeguard switched off, a run fails that the whole store passes. A run of this
// file has one or two of the proofs, which its seed draws; KETCH_LONG=1 has all of them.

import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { drawnBy } from '../../../testing/at-length.ts'
import { noRedis as skip } from '../../../testing/redis.ts'
import { seed } from '../../../testing/seed.ts'
import { REPLICATED_FAULTS, UNCONFIRMED_FAULTS } from './fail-over-faults.ts'
import { ALONE_FAULTS } from './faults.ts'
import { killsOfRedis } from './kill-faults.ts'
import { type Fault, RoundFailed, runRound } from './round.ts'
import { openAlone, openReplicated, type RedisScene } from './scene.ts'

/** A proof may need many rounds on a busy machine, where the harm that it waits for is rarer. */
const timeout = 1_200_000
/** The seed of the rounds. With this seed, every proof finds a round that fails without its safeguard. */
const SEED = 5

function without(safeguard: string): readonly string[] {
  const url = pathToFileURL(fileURLToPath(new URL('./without.ts', import.meta.url)))
  url.search = safeguard
  return [`--import=${url.href}`]
}

const aloneFault = (name: string) => ALONE_FAULTS.find(fault => fault.name === name)!

/** A proof needs one failed round; mostly the first or second one fails, and on a busy machine a later one. */
const MOST_ROUNDS = 25

/** Runs rounds of one fault until one fails. Resolves to that round's number and message, or '' if none failed. */
async function redRound<S extends RedisScene>(scene: S, fault: Fault<S>): Promise<string> {
  for (let number = 1; number <= MOST_ROUNDS; number++) {
    try {
      await runRound(scene, number, fault)
    } catch (error) {
      if (!(error instanceof RoundFailed)) throw error
      await rm(error.folder, { recursive: true, force: true })
      return `round ${number}: ${error.message}`
    }
  }
  return ''
}

const PROOFS: Readonly<Record<string, (t: TestContext) => Promise<void>>> = {
  async 'without WAIT, a fail-over loses what was acknowledged'(t) {
    const scene = await openReplicated(t, { seed: SEED, waitReplicas: 1, nodeFlags: without('wait') })
    assert.match(await redRound(scene, REPLICATED_FAULTS[0]!), /lost-write|unseen|refused for good/)
  },
  async 'without the floor, offsets that were lost get other values'(t) {
    const scene = await openReplicated(t, { seed: SEED, waitReplicas: 0, nodeFlags: without('floor') })
    assert.match(await redRound(scene, UNCONFIRMED_FAULTS[0]!), /inconsistent-offsets|OFFSET_OUT_OF_RANGE/)
  },
  async 'without the visibility rule, consumers read what a fail-over takes back'(t) {
    const scene = await openReplicated(t, { seed: SEED, waitReplicas: 1, nodeFlags: without('visibility') })
    assert.match(
      await redRound(scene, REPLICATED_FAULTS[0]!),
      /hole|OFFSET_OUT_OF_RANGE|where the store has nothing|inconsistent-offsets/,
    )
  },
  async 'without the attempt id, an append whose answer was lost is written twice'(t) {
    const scene = await openAlone(t, { seed: SEED, nodeFlags: without('attempt') })
    assert.match(await redRound(scene, aloneFault('replies of Redis that get lost')), /duplicate/)
  },
  async 'without the arm, an entry of a stranger is taken for one that was refused'(t) {
    const scene = await openAlone(t, { seed: SEED, nodeFlags: without('arm') })
    assert.match(await redRound(scene, aloneFault('entries of a stranger')), /lost-write|unseen/)
  },
  async 'without the voids, unacknowledged records come back instead of acknowledged ones'(t) {
    const scene = await openAlone(t, { seed: SEED, nodeFlags: without('voids') })
    assert.match(
      await redRound(scene, killsOfRedis({ kills: 6, withBrokers: false })),
      /more entries than were ever acknowledged|lost-write|unseen|inconsistent-offsets|phantom|lies where epoch/,
    )
  },
  async 'without the compare and the check of the incarnation, a loss goes unnoticed'(t) {
    const scene = await openReplicated(t, {
      seed: SEED,
      waitReplicas: 0,
      nodeFlags: without('compare-and-incarnation'),
    })
    assert.match(await redRound(scene, UNCONFIRMED_FAULTS[0]!), /no epoch began there|still led by epoch|inconsistent/)
  },
}

for (const [name, prove] of drawnBy(seed, 4, Object.entries(PROOFS))) test(name, { skip, timeout }, prove)

// If an event loop stands still for less than the expiry, the broker is not dead: no other broker takes over, and no
// partition changes its leader.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noRedis as skip } from '../../../testing/redis.ts'
import { auditRedis } from '../../../testing/redis-audit.ts'
import { seed } from '../../../testing/seed.ts'
import { PROBE_FLAGS, STALL_MS, stall } from './probing.ts'
import { type Fault, type RoundContext, runRound } from './round.ts'
import { openAlone } from './scene.ts'

/** The stall takes three fifths of the expiry, as 3 s do of the default. */
const EXPIRY_MS = (STALL_MS * 5) / 3

async function epochsOf({ scene, topicId }: RoundContext): Promise<ReadonlyMap<string, number>> {
  const { streams } = await auditRedis(await scene.primaries())
  const ours = [...streams].filter(([stream]) => stream.startsWith(`${topicId}:`))
  return new Map(ours.map(([stream, { epoch }]) => [stream, epoch]))
}

const stalledBroker: Fault = {
  name: 'an event loop that stands still',
  async act(context) {
    const { scene, run, random } = context
    const { id, broker } = scene.nodes[random.below(scene.nodes.length)]!
    const before = await epochsOf(context)
    const from = scene.nodes.map(node => node.broker.output().length)
    stall(broker)
    await run.pause(STALL_MS)
    // The broker answers again. By then the other brokers would have logged that they consider it dead.
    await run.pause(EXPIRY_MS / 2)
    for (const [at, node] of scene.nodes.entries()) {
      const said = node.broker.output().slice(from[at])
      assert.doesNotMatch(said, /considered dead|went=\[\d|this broker leads|groups have moved to this broker/)
    }
    assert.deepEqual(await epochsOf(context), before, 'no partition changed hands')
    return `the event loop of broker ${id} stood still for ${STALL_MS} ms`
  },
}

test(`a broker whose event loop stands still for less than its expiry keeps its partitions (seed ${seed})`, {
  skip,
  timeout: 580_000,
}, async t => {
  // As in the defaults, the timeout of Redis is longer than the stall. Otherwise the broker would drop answers of
  // Redis that arrived meanwhile.
  const settings = { 'svc.broker.expiry': `${EXPIRY_MS}ms`, 'svc.redis.timeout': `${2 * EXPIRY_MS}ms` }
  const scene = await openAlone(t, { seed, nodeFlags: PROBE_FLAGS, settings })
  t.diagnostic(JSON.stringify(await runRound(scene, 1, stalledBroker)))
})

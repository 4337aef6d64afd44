// Each safeguard of the offload is needed: a round in which a broker lacks it fails, and says why. A run has one of
// them, which its seed draws; KETCH_LONG=1 has all of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { drawnBy } from '../../../testing/at-length.ts'
import { eventually } from '../../../testing/eventually.ts'
import { noRedis } from '../../../testing/redis.ts'
import { seed as seedOfRun } from '../../../testing/seed.ts'
import { killAt } from './faults.ts'
import { lateCommit } from './holder-faults.ts'
import { lostCommits } from './place-faults.ts'
import { jobsOf } from './room-faults.ts'
import { type RemoteFault, type RoundOptions, runRemoteRound } from './round.ts'
import { KEPT_COMMITTED } from './steps.ts'
import { KEPT } from './topics.ts'

function without(safeguard: string): readonly string[] {
  const url = pathToFileURL(fileURLToPath(new URL('./without.ts', import.meta.url)))
  url.search = safeguard
  return [`--import=${url.href}`]
}

/** Segments stay in the local store, where a second attempt can read them. */
const STAYING = { 'segment.ms': '1', 'local.retention.ms': '-2' }

const killed = killAt(KEPT_COMMITTED, 1)

/** The attempt of a pass that is committed is made again. */
const attemptedAgain: RemoteFault = {
  name: killed.name,
  configs: STAYING,
  async act(context) {
    const told = await killed.act(context)
    const [broker] = context.world.brokers
    await eventually(
      'the jobs of the killed pass are done',
      async () => {
        await context.run.pause(100)
        const jobs = (await jobsOf(broker!, KEPT)).filter(({ attempts }) => attempts > 1)
        return jobs.length > 0 && jobs.every(({ status }) => status === 'done')
      },
      AGAIN_MS,
    )
    return told
  },
}

const AGAIN_MS = 60_000

interface Needed {
  readonly safeguard: string
  readonly fault: RemoteFault
  readonly world: RoundOptions['world']
  readonly finding: RegExp
}

const SEEDS = [5, 6, 7, 8, 9, 10, 11, 12]

const NEEDED: readonly Needed[] = [
  {
    safeguard: 'ranges',
    fault: attemptedAgain,
    world: { store: 'embedded', brokers: 1, place: 'folder' },
    finding: /has offset \d+ twice|stands in the table twice/,
  },
  {
    safeguard: 'create-only',
    fault: { ...lateCommit, configs: STAYING },
    world: { place: 'folder' },
    finding: /has vanished|goes back/,
  },
  {
    safeguard: 'unknown',
    fault: { ...lostCommits, configs: STAYING },
    world: { store: 'embedded', brokers: 1, place: 'bucket' },
    finding: /snap-\S* (is missing|does not exist)/,
  },
]

for (const { safeguard, fault, world, finding } of drawnBy(seedOfRun, 3, NEEDED))
  test(`a round turns red without the safeguard: ${safeguard}`, { skip: noRedis, timeout: 1_200_000 }, async t => {
    // The fault must meet the moment in which the safeguard is needed; not every round has one.
    const outcomes: string[] = []
    for (const seed of SEEDS) {
      const round = runRemoteRound(t, { seed, fault, world: { ...world, nodeFlags: without(safeguard) } })
      const outcome = await round.then(() => 'green', String)
      if (finding.test(outcome)) return
      outcomes.push(outcome)
    }
    assert.fail(outcomes.join('\n'))
  })

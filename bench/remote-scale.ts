// Measures what the rounds of the storage worker cost with nothing to do in 10,000 partitions whose records are in 100
// tables, and how long it takes to get them there.

import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { noRedis, startRedis } from '../testing/redis.ts'
import { cpuSeconds, type Finding, median, type Question } from './harness.ts'
import { ON_REQUEST, runRound } from './keyed.ts'
import { LOOP_DELAY_FLAG, loopDelay } from './loop-delay.ts'
import { COLD, dataFiles, tableFolder, tierSettings } from './tiered.ts'
import { createWide, PARTITIONS } from './worker-scale.ts'

/** KETCH_REMOTE_TABLES makes a shorter run with fewer tables of 100 partitions. */
const TABLES = Number(process.env.KETCH_REMOTE_TABLES ?? '100')
const ALL = TABLES * PARTITIONS

export const remoteScale: Question = {
  name: 'remote-scale',
  asks: `a round of the storage worker over ${ALL} idle partitions whose records are in ${TABLES} tables`,
  async answer(harness) {
    const stores = {
      'the embedded store': {},
      ...(noRedis === false ? { Redis: { 'svc.redis.uri': (await startRedis(harness)).uri } } : {}),
    }
    const findings: Finding[] = []
    for (const [store, settings] of Object.entries(stores)) {
      const folder = await tableFolder(harness)
      const options = {
        settings: { ...ON_REQUEST, ...tierSettings(folder), ...settings },
        nodeFlags: [LOOP_DELAY_FLAG],
      }
      const broker = await startBrokerProcess(harness, options)
      await createWide(broker.port, 'table', TABLES, COLD)
      const took = await offloadAll(broker)
      const { files } = await dataFiles(folder)
      if (files !== ALL) throw new Error(`${files} files were made for ${ALL} partitions`)
      harness.say(`${store}: ${ALL} partitions were offloaded in ${(took / 1000).toFixed(0)} s`)
      const rounds = Math.max(5, harness.rounds)
      const [cpu, hold]: [number[], number[]] = [[], []]
      for (let round = 0; round < rounds; round++) {
        await loopDelay(broker)
        const before = cpuSeconds(broker.pid)
        const { offload } = await runRound(broker.url)
        cpu.push(cpuSeconds(broker.pid) - before)
        hold.push((await loopDelay(broker)).max)
        if (offload!.segments > 0) throw new Error('the round was not idle')
      }
      await broker.kill('SIGKILL')
      findings.push(
        { what: `${store}, CPU of an idle round`, value: median(cpu), unit: 's', ceiling: 1, samples: cpu },
        { what: `${store}, longest hold of the event loop`, value: median(hold), unit: 'ms', samples: hold },
        { what: `${store}, all partitions offloaded`, value: took / 1000, unit: 's' },
      )
    }
    return findings
  },
}

/** Has rounds run until there is nothing to do, and resolves with the milliseconds that they took. */
async function offloadAll(broker: BrokerProcess): Promise<number> {
  let took = 0
  for (let idle = 0, rounds = 0; idle < 3; rounds++) {
    if (rounds === 100) throw new Error('there is still something to do after 100 rounds')
    const { brokers, offload, tookMs } = await runRound(broker.url, 100)
    took += tookMs!
    const isIdle =
      offload!.segments === 0 &&
      offload!.waitingSegments === 0 &&
      brokers.every(each => each.rolled === 0 && each.droppedBytes === 0)
    idle = isIdle ? idle + 1 : 0
  }
  return took
}

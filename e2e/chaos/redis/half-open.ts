// A client that is gone without closing its connection. The broker sees an open connection without traffic: the
// session timeout must expire the member, and its group must rebalance exactly once.

import assert from 'node:assert/strict'
import { eventually } from '../../../testing/eventually.ts'
import { recordHistory } from '../../../testing/history.ts'
import { startProxy } from '../../../testing/proxy.ts'
import { openClusterCaller } from '../cluster-caller.ts'
import { runGroupMember } from '../consumers.ts'
import { openRun } from '../run.ts'
import type { Fault, RoundContext } from './round.ts'

/** Time for a second rebalance, which must not happen: longer than a heartbeat and the delay of a rebalance. */
const QUIET_MS = 2_000
/** A client that is gone never closes its connection, so it waits for responses for as long as the round may take. */
const FOR_EVER_MS = 600_000

export const halfOpenClient: Fault = {
  name: 'a client that is gone without a word',
  async act(context) {
    const { scene, run } = context
    const group = `half-open-${run.topic}`
    const proxies = await Promise.all(scene.nodes.map(({ broker }) => startProxy({ target: { port: broker.port } })))
    const gone = openMember(context, (port: number) => {
      return proxies[scene.nodes.findIndex(({ broker }) => broker.port === port)]!.port
    })
    const stays = openMember(context, port => port)
    let isRefused = false
    const refusedForAWhile = () => {
      isRefused = true
    }
    const members = [runGroupMember(stays, group, { refusedForAWhile }), runGroupMember(gone, group)]
    const ended = Promise.all(members).then(() => new Promise<never>(() => {}))
    ended.catch(() => {})
    let judged = 'rebalances not counted, the store was slow'
    try {
      await Promise.race([saysSo(context, group, /is stable with 2 members/), ended])
      for (const proxy of proxies) {
        proxy.freeze('to-server')
        proxy.freeze('to-client')
      }
      const from = scene.nodes.map(({ broker }) => broker.output().length)
      await Promise.race([saysSo(context, group, /is stable with 1 members?/, from), ended])
      await run.pause(QUIET_MS)
      // If the store is slow, coordinators and their groups start again, or refuse for a while, and members join again.
      // Then the rebalances cannot be counted.
      const isUndisturbed =
        !isRefused && scene.nodes.every(({ broker }, at) => !/ (WARN|ERROR) /.test(broker.output().slice(from[at])))
      const rebalances = linesOf(context, group, from).filter(line => line.includes('rebalance after generation'))
      if (isUndisturbed) {
        assert.equal(rebalances.length, 1, `one rebalance: ${rebalances.join('\n')}`)
        assert.match(rebalances[0]!, /sessions expired/)
        judged = 'one rebalance'
      }
    } finally {
      stays.stop()
      gone.abort(new Error('the client is gone'))
      await Promise.all(proxies.map(proxy => proxy.close()))
      await Promise.allSettled(members)
    }
    return `a member of ${group} gone without a word, ${judged}`
  },
}

/** Returns the run of a group member, with a history of its own. */
function openMember({ scene, run: within, random }: RoundContext, route: (port: number) => number) {
  const { topic, partitions } = within
  const ports = scene.nodes.map(({ broker }) => route(broker.port))
  const run = openRun({
    history: recordHistory(),
    topic,
    partitions,
    random,
    within,
    connect: async () =>
      openClusterCaller({ topic, ports, route, timeoutMs: FOR_EVER_MS, random, isOver: () => run.aborted !== null }),
  })
  return run
}

function linesOf({ scene }: RoundContext, group: string, from: readonly number[] = []): readonly string[] {
  const said = scene.nodes.flatMap(({ broker }, at) => broker.output().slice(from[at]).split('\n'))
  return said.filter(line => line.endsWith(`group=${group}`))
}

async function saysSo(context: RoundContext, group: string, what: RegExp, from?: readonly number[]): Promise<void> {
  const look = async () => {
    await context.run.pause(50)
    return linesOf(context, group, from).some(line => what.test(line))
  }
  await eventually(`${group} ${what.source}`, look, 60_000)
}

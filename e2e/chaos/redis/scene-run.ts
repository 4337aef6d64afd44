// The clients of a scene, each of which reaches every broker through that broker's own link.

import { openClusterCaller } from '../cluster-caller.ts'
import { openRun, type Run, type RunOptions } from '../run.ts'
import type { RedisScene } from './scene.ts'

/** A client gives an answer up after this: less than what a broker may be paused for. */
const REQUEST_MS = 3_000

/** `isOver`: the topic has gone for good, so what it refuses is no reason to go on asking. */
export function openSceneRun(
  { nodes }: RedisScene,
  options: Omit<RunOptions, 'connect'>,
  isOver: (run: Run) => boolean = () => false,
): Run {
  const { topic, random } = options
  const routes = new Map(nodes.map(node => [node.broker.port, node.toClients.port]))
  const run = openRun({
    ...options,
    connect: async () =>
      openClusterCaller({
        topic,
        ports: [...routes.values()],
        route: port => routes.get(port)!,
        timeoutMs: REQUEST_MS,
        random,
        isOver: () => run.aborted !== null || isOver(run),
      }),
  })
  return run
}

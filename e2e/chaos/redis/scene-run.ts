// The clients of a scene. Each client reaches every broker through that broker's own proxy.

import { openClusterCaller } from '../cluster-caller.ts'
import { openRun, type Run, type RunOptions } from '../run.ts'
import type { RedisScene } from './scene.ts'

/** The longest wait of a client for a response, in ms. It is shorter than the longest pause of a broker. */
const REQUEST_MS = 3_000

/** If `isOver` is true, the topic is deleted, so clients need not repeat refused requests. */
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

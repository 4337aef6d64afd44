// The rooms that Kafka handlers use, on the world of logs.ts, so that a test can call handlers without a connection.

import { seededRandom } from '../../src/base/random.ts'
import { aloneInCluster } from '../../src/cluster/cluster.ts'
import { openClientQuotas } from '../../src/coordinator/client-quotas.ts'
import { openReadPositions } from '../../src/coordinator/read-positions.ts'
import type { Handler, Rooms } from '../../src/kafka/handler.ts'
import { ALL_ALLOWED } from '../../src/kafka/permissions.ts'
import { createThrottle } from '../../src/kafka/throttle.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import type { LogWorld } from './logs.ts'

/** Rooms for the handlers of topics, records and offsets. They log to `lines`. */
export async function kafkaRooms(world: LogWorld, lines: string[] = []): Promise<Rooms> {
  const { clock, settings, metrics, catalogue, logs, store } = world
  const rooms = {
    ...{ settings, metrics, catalogue, logs, clock },
    readPositions: openReadPositions(clock),
    throttle: createThrottle(await openClientQuotas(store), clock),
    random: seededRandom(1),
    cluster: aloneInCluster(0, null),
    logger: createLogger({ clock, write: line => lines.push(line), format: 'plain' }),
  }
  return rooms as unknown as Rooms
}

/** A connection without permissions to check, as handlers see it. */
export function connectionOf() {
  return { address: '10.0.0.1', principal: 'User:ada', policy: null, listener: { name: 'PLAINTEXT' } }
}

export interface RequestMeta {
  readonly apiVersion?: number
  readonly connection?: object
  readonly closed?: AbortSignal
}

/** Sends a request to a handler. `body` must have every field that the handler uses. */
export function send(
  { open }: Handler,
  rooms: Rooms,
  body: object,
  { apiVersion = 11, connection = connectionOf(), closed = new AbortController().signal }: RequestMeta = {},
): Promise<unknown> {
  const receivedAtMs = rooms.clock.monotonic()
  const request = {
    ...{ body, apiVersion, connection, closed, receivedAtMs, permissions: ALL_ALLOWED, clientId: 'app' },
    ...{ drain: new AbortController().signal, deadlineMs: receivedAtMs + 10_000, waitedMs: 0, onSent: null },
  }
  return Promise.resolve(open(rooms).answer(request as never))
}

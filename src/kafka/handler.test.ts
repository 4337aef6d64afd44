import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyOf, examples, ID_OF_A } from '../../testing/permission-examples.ts'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { seededRandom } from '../base/random.ts'
import { openCatalogue } from '../log/catalogue.ts'
import { testSettings } from '../settings/settings.ts'
import { createLogger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { Request, Rooms } from './handler.ts'
import { handlers } from './handlers/all.ts'
import type { Need, Permission } from './needs.ts'

function say({ operation, resource }: Permission): string {
  const said = 'id' in resource ? `#${resource.id === ID_OF_A ? 'a' : resource.id}` : (resource.name ?? 'each')
  return `${operation} ${resource.type} ${said}`
}

const sayNeed = ({ scope, or, ...need }: Need) => `${scope}: ${say(need)}${or === undefined ? '' : ` or ${say(or)}`}`

/** The parts of the rooms that handlers use when they are opened. */
async function openRooms(): Promise<Rooms> {
  const clock = new SimulatedClock()
  const settings = testSettings()
  const random = seededRandom(1)
  const catalogue = await openCatalogue(createMemoryStore(clock), settings, clock, random)
  const logger = createLogger({ clock, write: () => {}, format: 'plain' })
  return { clock, settings, random, catalogue, logger, metrics: createMetrics() } as unknown as Rooms
}

test('each API says which operations on which resources its request needs, as Kafka authorizes it', async () => {
  const rooms = await openRooms()
  const untested = new Set(handlers.map(({ api }) => api.name))
  for (const [name, apiVersion, said, ...expected] of examples) {
    const handler = handlers.find(({ api }) => api.name === name)
    assert.ok(handler, name)
    const body = bodyOf(handler.api, said)
    const needs = handler.open(rooms).needs({ body, apiVersion } as unknown as Request<never>)
    assert.deepEqual(needs.map(sayNeed), expected, `${name} ${apiVersion} ${JSON.stringify(said)}`)
    untested.delete(name)
  }
  assert.deepEqual([...untested], [], 'each API has an example')
})

test('the APIs of a coordinator tell clients to look for it again while the store is away, or to wait', async () => {
  const rooms = await openRooms()
  const away = handlers.map(each => [each.api.name, each.open(rooms).storeAway?.name ?? null] as const)
  assert.deepEqual(Object.fromEntries(away.filter(([, code]) => code !== null)), {
    OffsetCommit: 'COORDINATOR_NOT_AVAILABLE',
    OffsetFetch: 'COORDINATOR_LOAD_IN_PROGRESS',
    FindCoordinator: 'COORDINATOR_NOT_AVAILABLE',
    JoinGroup: 'COORDINATOR_NOT_AVAILABLE',
    SyncGroup: 'COORDINATOR_NOT_AVAILABLE',
    Heartbeat: 'COORDINATOR_NOT_AVAILABLE',
    LeaveGroup: 'COORDINATOR_NOT_AVAILABLE',
    InitProducerId: 'COORDINATOR_LOAD_IN_PROGRESS',
  })
})

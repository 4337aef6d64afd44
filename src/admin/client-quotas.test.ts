import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'
import { openClientQuotas, type QuotaEntity } from '../coordinator/client-quotas.ts'
import { isRefusal } from '../protocol/errors.ts'
import { alterClientQuotas, describeClientQuotas, type QuotaAlteration, type QuotaFilter } from './client-quotas.ts'

const named = (entity: Readonly<Record<string, string | null>>) =>
  Object.entries(entity).map(([type, name]) => ({ type, name }))

async function open() {
  const rooms = { clientQuotas: await openClientQuotas(createMemoryStore(new SimulatedClock())) }
  /** Resolves to the outcome of each alteration: `done`, or the name and the message of its refusal. */
  const alter = async (alterations: readonly QuotaAlteration[], validateOnly = false) => {
    const outcomes = await alterClientQuotas(rooms, alterations, { validateOnly })
    return outcomes.map(outcome => (outcome === null ? 'done' : `${outcome.name}: ${outcome.message}`))
  }
  const one = async (entity: Readonly<Record<string, string | null>>, key: string, value: number | null) =>
    (await alter([{ entity: named(entity), edits: [{ key, value }] }]))[0]
  const describe = (filters: readonly QuotaFilter[], isStrict = false) => {
    const found = describeClientQuotas(rooms, filters, isStrict)
    return isRefusal(found) ? `${found.name}: ${found.message}` : found.map(({ entity }) => entity)
  }
  return { rooms, alter, one, describe }
}

test('users, client ids, pairs of both, and addresses have quotas with the keys of their type', async () => {
  const { rooms, one } = await open()
  assert.equal(await one({ user: 'ann' }, 'producer_byte_rate', 1024), 'done')
  assert.equal(await one({ user: null, 'client-id': 'app' }, 'consumer_byte_rate', 5), 'done')
  assert.equal(await one({ 'client-id': null }, 'request_percentage', 0.5), 'done')
  assert.equal(await one({ ip: '10.0.0.1' }, 'connection_creation_rate', 5), 'done')
  assert.equal(await one({ ip: null }, 'connection_creation_rate', 5), 'done')
  assert.equal(rooms.clientQuotas.current().size, 5)
  assert.equal(await one({ user: 'ann' }, 'producer_byte_rate', null), 'done')
  assert.equal(rooms.clientQuotas.current().size, 4)
})

test('an invalid quota is refused with a message that names the mistake', async () => {
  const { rooms, one, alter } = await open()
  const user = { user: 'ann' }
  const cases: [Readonly<Record<string, string | null>>, string, number | null, RegExp][] = [
    [{}, 'producer_byte_rate', 1, /Invalid empty client quota entity/],
    [{ group: 'g' }, 'producer_byte_rate', 1, /Unhandled client quota entity type: group/],
    [{ __proto__x: 'g' }, 'producer_byte_rate', 1, /Unhandled client quota entity type/],
    [{ user: '' }, 'producer_byte_rate', 1, /Empty user not supported/],
    [{ ip: '10.0.0.1', user: 'ann' }, 'connection_creation_rate', 1, /Invalid quota entity combination/],
    [{ ip: 'nowhere' }, 'connection_creation_rate', 1, /nowhere is not a valid IP/],
    [{ ip: '10.0.0.1' }, 'producer_byte_rate', 1, /Invalid configuration key producer_byte_rate/],
    [user, 'connection_creation_rate', 1, /Invalid configuration key connection_creation_rate/],
    [user, 'controller_mutation_rate', 1, /Invalid configuration key controller_mutation_rate/],
    [user, '__proto__', 1, /Invalid configuration key __proto__/],
    [user, 'producer_byte_rate', 0, /Quota producer_byte_rate must be greater than 0/],
    [user, 'producer_byte_rate', Number.NaN, /must be greater than 0/],
    [user, 'producer_byte_rate', 1.5, /producer_byte_rate cannot be a fractional value/],
    [user, 'producer_byte_rate', 1e19, /too large for a LONG/],
    [user, 'request_percentage', Number.POSITIVE_INFINITY, /too large for a DOUBLE/],
    [{ ip: null }, 'connection_creation_rate', 2 ** 31, /too large for a INT/],
  ]
  for (const [entity, key, value, why] of cases) {
    const said = await one(entity, key, value)
    assert.match(said ?? '', why)
    assert.match(said ?? '', /^INVALID_REQUEST/)
  }
  const edit = { key: 'producer_byte_rate', value: 1 }
  const ann = { entity: named(user), edits: [edit] }
  const outcomes = await alter([
    { entity: named(user), edits: [edit, edit] },
    { entity: [...named(user), ...named(user)], edits: [edit] },
    ann,
    ann,
  ])
  assert.match(outcomes[0]!, /Duplicate quota key producer_byte_rate/)
  assert.match(outcomes[1]!, /duplicate entity entry user/)
  assert.match(outcomes[2]!, /Ignoring duplicate entity ClientQuotaEntity\(entries=\{user=ann\}\)/)
  assert.match(outcomes[3]!, /Ignoring duplicate entity/)
  assert.deepEqual(await alter([ann], true), ['done'])
  assert.equal(rooms.clientQuotas.current().size, 0)
})

test('a refused entity does not prevent the changes of other entities', async () => {
  const { rooms, alter } = await open()
  const edits = [{ key: 'producer_byte_rate', value: 1 }]
  const outcomes = await alter([
    { entity: named({ user: 'ann' }), edits },
    { entity: named({ user: 'bob' }), edits: [...edits, { key: 'nope', value: 1 }] },
  ])
  assert.deepEqual(outcomes, ['done', 'INVALID_REQUEST: Invalid configuration key nope'])
  assert.deepEqual(
    [...rooms.clientQuotas.current().values()].map(quota => quota.entity),
    [{ user: 'ann' }],
  )
})

test('a filter returns the entities that have its types, and a strict filter only those without other types', async () => {
  const { one, describe } = await open()
  const entities: QuotaEntity[] = [
    { user: 'ann' },
    { user: null },
    { user: 'ann', 'client-id': 'app' },
    { user: 'ann', 'client-id': null },
    { 'client-id': 'app' },
  ]
  for (const entity of entities)
    assert.equal(await one(entity as Record<string, string>, 'request_percentage', 1), 'done')
  const exact = (type: string, name: string | null): QuotaFilter => ({ type, match: 'exact', name })
  const whatever = (type: string): QuotaFilter => ({ type, match: 'any', name: null })
  const byDefault = (type: string): QuotaFilter => ({ type, match: 'default', name: null })
  const pick = (...at: number[]) => at.map(i => entities[i])
  assert.deepEqual(describe([]), entities)
  assert.deepEqual(describe([], true), [])
  assert.deepEqual(describe([exact('user', 'ann')]), pick(0, 2, 3))
  assert.deepEqual(describe([exact('user', 'ann')], true), pick(0))
  assert.deepEqual(describe([byDefault('user')]), pick(1))
  assert.deepEqual(describe([whatever('user')], true), pick(0, 1))
  assert.deepEqual(describe([exact('user', 'ann'), byDefault('client-id')], true), pick(3))
  assert.deepEqual(describe([whatever('client-id')]), pick(2, 3, 4))
  assert.match(String(describe([exact('user', null)])), /^INVALID_REQUEST.*set match string to null/)
  assert.match(String(describe([{ ...byDefault('user'), name: 'x' }])), /^INVALID_REQUEST.*MATCH_TYPE_DEFAULT/)
  assert.match(String(describe([{ ...whatever('user'), name: 'x' }])), /^INVALID_REQUEST.*MATCH_TYPE_SPECIFIED/)
  assert.match(String(describe([whatever('user'), whatever('user')])), /cannot appear more than once/)
  assert.match(String(describe([whatever('group')])), /^UNSUPPORTED_VERSION: Unsupported entity type group/)
  assert.match(String(describe([whatever('')])), /Invalid empty entity type/)
  assert.match(String(describe([whatever('ip'), whatever('user')])), /IP filter component should not be used/)
})

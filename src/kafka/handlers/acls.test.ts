import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGround } from '../../../testing/kafka.ts'
import { MOST_RULES } from '../../admin/acls.ts'
import { EVERYTHING } from '../../auth/clients/policy.ts'
import { systemClock } from '../../base/clock.ts'
import { SECURITY_DISABLED } from '../../protocol/errors.ts'
import { createAcls } from '../../protocol/messages/create-acls.ts'
import { deleteAcls } from '../../protocol/messages/delete-acls.ts'
import { describeAcls } from '../../protocol/messages/describe-acls.ts'
import type { RequestInput } from '../../protocol/schema.ts'

const ANY = 1
const MATCH = 2
const [LITERAL, PREFIXED] = [3, 4]
const [TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID] = [2, 3, 4, 5]
const [ALL, READ, WRITE, CREATE, DELETE, DESCRIBE] = [2, 3, 4, 5, 6, 8]
const IDEMPOTENT_WRITE = 12
const [DENY, ALLOW] = [2, 3]

type Creation = RequestInput<typeof createAcls>['creations'][number]
type Filter = RequestInput<typeof describeAcls>

const binding = (more: Partial<Creation> = {}): Creation => ({
  ...{ resourceType: TOPIC, resourceName: 'orders', resourcePatternType: LITERAL, principal: 'User:ada' },
  ...{ host: '*', operation: READ, permissionType: ALLOW, ...more },
})

const filter = (more: Partial<Filter> = {}): Filter => ({
  ...{ resourceTypeFilter: ANY, resourceNameFilter: null, patternTypeFilter: ANY, principalFilter: null },
  ...{ hostFilter: null, operation: ANY, permissionType: ANY, ...more },
})

async function open(t: Parameters<typeof startGround>[0]) {
  const policies = { current: () => EVERYTHING, resolve: async () => EVERYTHING }
  const ground = await startGround(t, {}, systemClock, { policies })
  const wire = await ground.connect()
  const create = async (...creations: readonly Creation[]) => {
    const { results } = await wire.send(createAcls, 3, { creations })
    return results.map(({ errorCode, errorMessage }) => (errorCode === 0 ? null : `${errorCode} ${errorMessage}`))
  }
  const list = async (more: Partial<Filter> = {}, version = 3) => {
    const { resources } = await wire.send(describeAcls, version, filter(more))
    return resources.flatMap(({ resourceType, resourceName, patternType, acls }) =>
      acls.map(
        ({ principal, operation }) => `${principal} ${operation} ${resourceType}:${patternType}:${resourceName}`,
      ),
    )
  }
  const remove = async (...filters: readonly Partial<Filter>[]) => {
    const { filterResults } = await wire.send(deleteAcls, 3, { filters: filters.map(filter) })
    return filterResults.map(({ errorCode, matchingAcls }) => (errorCode === 0 ? matchingAcls.length : `${errorCode}`))
  }
  return { ...ground, wire, create, list, remove }
}

test('rules over Kafka are those of names, prefixes and `*`, of users and of groups', async t => {
  const { create, list } = await open(t)
  assert.deepEqual(
    await create(
      binding(),
      binding(),
      binding({ operation: WRITE, resourceName: 'logs-', resourcePatternType: PREFIXED }),
      binding({ principal: 'Group:ops', resourceType: GROUP, resourceName: '*' }),
    ),
    [null, null, null, null],
  )
  assert.deepEqual(await list(), ['User:ada 4 2:4:logs-', 'User:ada 3 2:3:orders', 'Group:ops 3 3:3:*'])
  assert.deepEqual(await list({}, 1), await list())
})

test('filters match as in Kafka: exactly, by any kind of pattern, or by what affects a name', async t => {
  const { create, list } = await open(t)
  await create(
    binding(),
    binding({ resourceName: 'ord', resourcePatternType: PREFIXED }),
    binding({ resourceName: '*', principal: 'User:bob' }),
    binding({ resourceName: 'other', operation: WRITE }),
  )
  const names = async (more: Partial<Filter>) => (await list(more)).map(each => each.split(' ')[2])
  assert.deepEqual(await names({ patternTypeFilter: MATCH, resourceNameFilter: 'orders' }), [
    '2:4:ord',
    '2:3:orders',
    '2:3:*',
  ])
  assert.deepEqual(await names({ patternTypeFilter: ANY, resourceNameFilter: 'ord' }), ['2:4:ord'])
  assert.deepEqual(await names({ patternTypeFilter: LITERAL, resourceNameFilter: 'orders' }), ['2:3:orders'])
  assert.deepEqual(await names({ patternTypeFilter: PREFIXED }), ['2:4:ord'])
  assert.deepEqual(await names({ principalFilter: 'User:bob' }), ['2:3:*'])
  assert.deepEqual(await names({ principalFilter: 'bob' }), [])
  assert.deepEqual(await names({ operation: WRITE }), ['2:3:other'])
  assert.deepEqual(await names({ permissionType: DENY }), [])
  assert.deepEqual(await names({ hostFilter: '10.0.0.1' }), [])
  assert.deepEqual(await names({ resourceTypeFilter: GROUP }), [])
})

test('a filter deletes the rules that it matches, and each filter returns its own', async t => {
  const { create, list, remove } = await open(t)
  await create(binding(), binding({ operation: WRITE }), binding({ principal: 'User:bob' }))
  assert.deepEqual(
    await remove({ principalFilter: 'User:ada' }, { operation: WRITE }, { operation: DESCRIBE }),
    [2, 1, 0],
  )
  assert.deepEqual(await list(), ['User:bob 3 2:3:orders'])
  assert.deepEqual(await remove({ operation: 99 }, {}), ['42', 1])
  assert.deepEqual(await list(), [])
})

test('an operation that follows from a rule is accepted beside it, and refused without it', async t => {
  const { create, list } = await open(t)
  const cluster = { resourceType: CLUSTER, resourceName: 'kafka-cluster', operation: IDEMPOTENT_WRITE }
  const [refused] = await create(binding({ operation: DESCRIBE }))
  assert.equal(
    refused,
    '42 DESCRIBE on TOPIC is no rule of its own: it follows from READ or WRITE on TOPIC orders, which User:ada does not have',
  )
  assert.match((await create(binding(cluster)))[0]!, /IDEMPOTENT_WRITE on CLUSTER .*follows from WRITE on TOPIC any/)
  assert.deepEqual(
    await create(
      binding({ operation: CREATE }),
      binding({ operation: DESCRIBE }),
      binding({ operation: WRITE }),
      binding(cluster),
      binding({ operation: CREATE, principal: 'User:bob' }),
    ),
    [
      null,
      null,
      null,
      null,
      '42 CREATE on TOPIC is no rule of its own: it follows from WRITE on TOPIC orders, which User:bob does not have',
    ],
  )
  assert.deepEqual(await list(), ['User:ada 4 2:3:orders'])
})

test('a binding that no rule can express is refused with the field and what it takes', async t => {
  const { create, list } = await open(t)
  const cases: readonly (readonly [Partial<Creation>, RegExp])[] = [
    [{ principal: 'User:*' }, /principal: got User:\*, takes User:<name> or Group:<name>; no rule is for all users/],
    [{ principal: 'ada' }, /principal: got ada, takes User:<name> or Group:<name>/],
    [{ principal: 'Role:ada' }, /principal: got Role:ada/],
    [{ principal: 'User:group:ops' }, /principal: got User:group:ops/],
    [{ principal: 'User:a:b' }, /principal holds ':'/],
    [{ principal: 'Group:' }, /principal names no principal/],
    [{ host: '10.0.0.1' }, /host: got 10\.0\.0\.1, takes '\*'/],
    [{ permissionType: DENY }, /permission: got DENY, takes ALLOW/],
    [{ operation: ALL }, /operation: got ALL, takes READ and WRITE/],
    [{ operation: DELETE }, /operation: got DELETE on TOPIC, takes READ and WRITE; .*super-users/],
    [{ resourceType: TRANSACTIONAL_ID }, /got READ on TRANSACTIONAL_ID, takes nothing that a rule can grant/],
    [{ resourceType: CLUSTER }, /resource: got orders, takes kafka-cluster/],
    [{ resourceType: 7 }, /resource type: got 7, takes TOPIC or GROUP/],
    [{ resourceName: 'orders*' }, /resource: got orders\*, takes a literal name without '\*' at its end/],
    [{ resourceName: '*', resourcePatternType: PREFIXED }, /resource: got \*, takes a prefix without/],
    [{ resourceName: 'a*b' }, /resource has '\*' elsewhere/],
    [{ resourceName: 'a/b' }, /resource /],
    [{ resourceName: '' }, /Invalid empty resource name/],
    [{ resourcePatternType: MATCH }, /pattern type: got 2, takes LITERAL or PREFIXED/],
  ]
  for (const [more, message] of cases) {
    const [refused] = await create(binding(more))
    assert.match(refused ?? 'granted', message)
    assert.match(refused!, /^42 /)
  }
  assert.deepEqual(await list(), [])
})

test('a change of rules over Kafka has an audit line with the client, the rule and the result', async t => {
  const { create, log } = await open(t)
  await create(binding(), binding({ operation: ALL }))
  assert.match(
    log(),
    /svc\.audit.*create acls.*who=User:ANONYMOUS.*from=127\.0\.0\.1.*code=INVALID_REQUEST.*User:ada READ TOPIC orders/,
  )
})

test('clients make a bounded number of rules, and those that are there can be named again and deleted', async t => {
  const { create, list, remove } = await open(t)
  const many = Array.from({ length: MOST_RULES + 2 }, (_, at) => binding({ resourceName: `t${at}` }))
  const outcomes = await create(...many)
  assert.equal(outcomes.filter(each => each === null).length, MOST_RULES)
  assert.match(outcomes.at(-1)!, /^44 There are 20000 rules/)
  assert.deepEqual(await create(many[0]!, many.at(-1)!), [null, outcomes.at(-1)])
  assert.deepEqual(await remove({ resourceNameFilter: 't0' }), [1])
  assert.deepEqual(await create(many.at(-1)!), [null])
  assert.equal((await list()).length, MOST_RULES)
})

test('while ACLs are off, no client lists or changes rules over Kafka', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const off = /^ACLs are off \(svc\.broker\.acl\.enabled\)/
  const listed = await wire.send(describeAcls, 3, filter())
  const [created] = (await wire.send(createAcls, 3, { creations: [binding()] })).results
  const [deleted] = (await wire.send(deleteAcls, 3, { filters: [filter()] })).filterResults
  for (const { errorCode, errorMessage } of [listed, created!, deleted!]) {
    assert.equal(errorCode, SECURITY_DISABLED.code)
    assert.match(errorMessage!, off)
  }
})

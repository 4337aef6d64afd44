import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grant } from '../auth/clients/acl-rules.ts'
import { policyOf } from '../auth/clients/policy.ts'
import { isRefusal } from '../protocol/errors.ts'
import { CLUSTER, type Need, onCluster, onEach, onEachRow, onGroup, onListed, onTopics, orElse } from './needs.ts'
import { clusterOperationsOf, type Permissions, permissionsOf } from './permissions.ts'

const rule = (operation: Grant['operation'], resource: string, resourceType: Grant['resourceType'] = 'TOPIC') => ({
  ...{ operation, resource, resourceType },
})

/** The permissions of a client with these rules, and the missing ones as they were told. */
function ask(needs: readonly Need[], ...rules: readonly Grant[]) {
  const topicsById = new Map<string, { readonly name: string }>([['id-of-a', { name: 'a' }]])
  const told: string[] = []
  const policy = policyOf(new Map([['ada', rules]]), new Set(), { name: 'ada', groups: [] })
  const catalogue = { current: () => ({ topicsById }) as never }
  const answer = permissionsOf(policy, needs, catalogue, ({ operation }, name) => told.push(`${operation} ${name}`))
  const refusal = isRefusal(answer) ? answer.name : null
  return { refusal, permissions: answer as Permissions, told, topicsById }
}

test('a missing permission of the whole request refuses it with the code of the type', () => {
  const group = [onGroup('READ', 'g'), ...onTopics('READ', 'name', [{ name: 'a' }])]
  assert.equal(ask(group, rule('READ', 'a')).refusal, 'GROUP_AUTHORIZATION_FAILED')
  assert.equal(ask(group, rule('READ', 'g', 'GROUP')).refusal, null)
  assert.equal(ask([onCluster('ALTER')], rule('WRITE', '*')).refusal, 'CLUSTER_AUTHORIZATION_FAILED')
  assert.deepEqual(ask(group).told, ['READ g'])
})

test('a missing permission of a row refuses the rows about its resource and no others', () => {
  const { permissions, told } = ask(onTopics('WRITE', 'name', [{ name: 'a' }, { name: 'b' }]), rule('WRITE', 'b'))
  assert.equal(permissions.topic('name', 'a')!.name, 'TOPIC_AUTHORIZATION_FAILED')
  assert.equal(permissions.topic('name', 'b'), null)
  assert.deepEqual(told, ['WRITE a'])
})

test('an id is checked by the name of its topic, also if the topic is found only after the request arrived', () => {
  const needs = onTopics('READ', 'topicId', [{ topicId: 'id-of-a' }, { topicId: 'id-of-b' }, { topicId: 'id-of-c' }])
  const { permissions, topicsById } = ask(needs, rule('READ', 'b'))
  const codes = () => ['id-of-a', 'id-of-b', 'id-of-c'].map(id => permissions.topic('topicId', id)?.name ?? null)
  assert.deepEqual(codes(), ['TOPIC_AUTHORIZATION_FAILED', null, null], 'an id without a topic needs no permission')
  topicsById.set('id-of-b', { name: 'b' }).set('id-of-c', { name: 'c' })
  assert.deepEqual(codes(), ['TOPIC_AUTHORIZATION_FAILED', null, 'TOPIC_AUTHORIZATION_FAILED'])
})

test('a need on every row is checked for each topic that the handler asks about', () => {
  const { permissions } = ask([onEachRow('READ')], rule('READ', 'a*'))
  assert.equal(permissions.topic('name', 'ab'), null)
  assert.equal(permissions.topic('name', 'b')!.name, 'TOPIC_AUTHORIZATION_FAILED')
  assert.equal(permissions.topic('topicId', 'id-of-a'), null)
})

test('a hidden resource is left out, by its name or by the list that has it', () => {
  const named = ask(onEach('CREATE', 'TOPIC', ['a', 'b'], 'hidden'), rule('WRITE', 'a')).permissions
  assert.deepEqual(
    ['a', 'b'].map(name => named.shows('TOPIC', name)),
    [true, false],
  )
  assert.equal(named.topic('name', 'b'), null, 'its row is not refused')
  const listed = ask([onListed('DESCRIBE', 'GROUP')], rule('READ', 'g', 'GROUP')).permissions
  assert.deepEqual(
    ['g', 'h'].map(name => listed.shows('GROUP', name)),
    [true, false],
  )
  assert.equal(listed.shows('TOPIC', 'a'), true, 'the need is about groups')
})

test('a need is met by the permission that is enough in its place, on the same resource or on its own', () => {
  const either = orElse(onEach('DESCRIBE', 'GROUP', ['g']), resource => ({ operation: 'DELETE', resource }))
  assert.equal(ask(either, rule('WRITE', 'g', 'GROUP')).permissions.group('g'), null)
  assert.equal(ask(either, rule('WRITE', 'h', 'GROUP')).permissions.group('g')!.name, 'GROUP_AUTHORIZATION_FAILED')
  const any: Need = {
    ...onCluster('ALTER'),
    or: { operation: 'WRITE', resource: { type: 'TOPIC', name: null } },
  }
  assert.equal(ask([any], rule('WRITE', 'x')).refusal, null)
  assert.equal(ask([any], rule('READ', 'x')).refusal, 'CLUSTER_AUTHORIZATION_FAILED')
  const cluster = orElse(onEach('CREATE', 'TOPIC', ['a']), () => ({ operation: 'CREATE', resource: CLUSTER }))
  assert.equal(ask(cluster, rule('READ', 'a')).permissions.topic('name', 'a')!.name, 'TOPIC_AUTHORIZATION_FAILED')
})

test('the operations on the cluster are shown to clients that may describe it', () => {
  assert.equal(clusterOperationsOf(ask([onCluster('DESCRIBE', 'hidden')], rule('WRITE', '*')).permissions), 0)
})

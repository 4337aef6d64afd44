import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { askHttp } from '../../../testing/ask-http.ts'
import { startBroker } from '../../../testing/broker.ts'

interface Rules {
  readonly rules: readonly {
    readonly principal: string
    readonly resourceType: string
    readonly resource: string
    readonly operation: string
  }[]
  readonly total: number
}

async function open(t: TestContext) {
  const { url } = await startBroker(t, { 'admin.security-enabled': false }, { hasHttp: true })
  const ask = askHttp(url)
  const grant = (body: unknown, status = 201) => ask<{ detail: string }>('/api/v1/acls', status, { body })
  const texts = async (path: string) => {
    const { rules } = await ask<Rules>(path)
    return rules.map(each => `${each.principal} ${each.resourceType} ${each.resource} ${each.operation}`)
  }
  return { ask, grant, texts }
}

test('rules are granted in either form, listed, and taken back one by one', async t => {
  const { ask, grant, texts } = await open(t)
  assert.deepEqual(await grant({ principal: 'ada', topic: 'orders', operation: 'READ' }), {
    ...{ principal: 'ada', resourceType: 'TOPIC', resource: 'orders', operation: 'READ' },
    notice: 'No broker enforces rules: every Kafka client may do everything, because svc.broker.acl.enabled is false.',
  })
  await grant({ principal: 'ada', topic: 'orders', operation: 'READ' }, 200)
  await grant({ principal: 'ada', resourceType: 'GROUP', resource: 'billing', operation: 'READ' })
  await grant({ principal: 'ada', resource: 'logs-*', operation: 'WRITE' })
  await grant({ principal: 'group:staff', resource: '*', operation: 'READ' })
  assert.deepEqual(await texts('/api/v1/acls'), [
    'ada GROUP billing READ',
    'ada TOPIC logs-* WRITE',
    'ada TOPIC orders READ',
    'group:staff TOPIC * READ',
  ])
  assert.deepEqual(await texts('/api/v1/acls?q=ORD'), ['ada TOPIC orders READ'])
  assert.deepEqual(await texts('/api/v1/acls?principal=group:staff'), ['group:staff TOPIC * READ'])
  assert.deepEqual(await texts('/api/v1/acls/ada'), [
    'ada TOPIC logs-* WRITE',
    'ada TOPIC orders READ',
    'ada GROUP billing READ',
  ])
  assert.deepEqual(await texts('/api/v1/acls/group%3Aempty'), [])
  // An identity provider may name its groups as it likes.
  const urn = { principal: 'group:urn:example:staff', resource: 'a', operation: 'READ' }
  await grant(urn)
  assert.deepEqual(await texts('/api/v1/acls?principal=group:urn:example:staff'), [
    'group:urn:example:staff TOPIC a READ',
  ])
  await ask('/api/v1/acls/group%3Aurn%3Aexample%3Astaff?resource=a&operation=READ', 204, { method: 'DELETE' })

  const take = (query: string, status: number) => ask(`/api/v1/acls/ada?${query}`, status, { method: 'DELETE' })
  await take('topic=orders&operation=WRITE', 404)
  await take('topic=orders&operation=READ', 204)
  await take('resourceType=GROUP&resource=billing&operation=READ', 204)
  await take('operation=READ', 400)
  await take('topic=orders', 400)
  assert.deepEqual(await texts('/api/v1/acls/ada'), ['ada TOPIC logs-* WRITE'])
})

test('the rules that match a topic or a group are found by its name', async t => {
  const { ask, grant, texts } = await open(t)
  for (const resource of ['orders', 'orders-*', 'ord*', '*', 'Orders'])
    await grant({ principal: 'ada', resource, operation: 'READ' })
  await grant({ principal: 'ada', resourceType: 'GROUP', resource: 'orders', operation: 'READ' })
  const found = async (query: string) => (await texts(`/api/v1/acls/match?${query}`)).map(each => each.split(' ')[2])
  assert.deepEqual(await found('topic=orders'), ['*', 'ord*', 'orders'])
  assert.deepEqual(await found('topic=orders-eu'), ['*', 'ord*', 'orders-*'])
  assert.deepEqual(await found('group=orders'), ['orders'])
  await ask('/api/v1/acls/match', 400)
})

test('a rule is refused if its principal, topic or group has a forbidden name', async t => {
  const { grant, texts, ask } = await open(t)
  const refuse = async (body: object, expected: RegExp) =>
    assert.match((await grant({ principal: 'ada', operation: 'READ', ...body }, 400)).detail, expected)
  await refuse({ resource: 'a*b' }, /resource cannot be granted: has '\*' elsewhere than at its end/)
  await refuse({ topic: '..' }, /topic cannot be granted: '\.\.' is not allowed/)
  await refuse({ topic: 'x'.repeat(250) }, /longer than the max allowed length/)
  await refuse({ topic: 'a/b' }, /other than ASCII alphanumerics/)
  await refuse({ topic: 'a', resource: 'a' }, /Either topic or resource/)
  await refuse({ topic: 'a', resourceType: 'GROUP' }, /resourceType TOPIC/)
  await refuse({ resourceType: 'GROUP', resource: 'a\u0000' }, /control characters/)
  await refuse({ topic: 'a', operation: 'ALTER' }, /operation/)
  for (const principal of ['', 'a:b', 'group:', 'group:a\n', 'a\n', 'x'.repeat(257), '.', '..'])
    await refuse({ topic: 'a', principal }, /principal/)
  assert.deepEqual(await texts('/api/v1/acls'), [])
  for (const principal of [
    'a=2Cb=3D',
    '__proto__',
    'constructor',
    '<img onerror=x>',
    '%2e%2e',
    'a/b',
    'ünï',
    'x'.repeat(256),
  ]) {
    await grant({ principal, resourceType: 'GROUP', resource: '__proto__', operation: 'READ' })
    const path = `/api/v1/acls/${encodeURIComponent(principal)}`
    assert.deepEqual(await texts(path), [`${principal} GROUP __proto__ READ`])
    await ask(`${path}?resourceType=GROUP&resource=__proto__&operation=READ`, 204, { method: 'DELETE' })
  }
})

test('if rules are granted to one principal at the same time, all of them are kept', async t => {
  const { grant, texts } = await open(t)
  const topics = Array.from({ length: 20 }, (_, i) => `topic-${i}`)
  await Promise.all(topics.map(topic => grant({ principal: 'ada', topic, operation: 'WRITE' })))
  assert.equal((await texts('/api/v1/acls/ada')).length, topics.length)
})

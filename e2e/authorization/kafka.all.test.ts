// Sends the examples of every API, with each kind of rule that both have, to Ketch and to Apache Kafka with its
// StandardAuthorizer, and compares which resources are refused with which code, and which are shown.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grant } from '../../src/auth/clients/acl-rules.ts'
import { policyOf } from '../../src/auth/clients/policy.ts'
import { bindingOf } from '../../src/kafka/acls.ts'
import { OPERATION_CODES } from '../../src/kafka/operations.ts'
import { errorOf } from '../../src/protocol/errors.ts'
import { betweenBrokers } from '../../src/protocol/messages/all.ts'
import { createAcls } from '../../src/protocol/messages/create-acls.ts'
import { deleteAcls } from '../../src/protocol/messages/delete-acls.ts'
import { describeAcls } from '../../src/protocol/messages/describe-acls.ts'
import { findCoordinator } from '../../src/protocol/messages/find-coordinator.ts'
import { offsetFetch } from '../../src/protocol/messages/offset-fetch.ts'
import { kafkaAbsence, startApacheKafka } from '../../testing/apache-kafka.ts'
import { AUTHORIZATION, look, restore, send, startWorld } from '../../testing/authorization-world.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Example, examples, NEW_TOPIC } from '../../testing/permission-examples.ts'
import { connect, type Wire } from '../../testing/wire.ts'
import { type Difference, differences } from './differences.ts'

const ADA = { name: 'ada', groups: [] }
const PASSWORD = 'password-of-ada'

const grants: readonly (Grant | null)[] = [
  null,
  ...['a', 'a*', '*'].flatMap(resource =>
    (['READ', 'WRITE'] as const).map(operation => ({ resourceType: 'TOPIC' as const, operation, resource })),
  ),
  ...['g', 'g*', '*'].flatMap(resource =>
    (['READ', 'WRITE'] as const).map(operation => ({ resourceType: 'GROUP' as const, operation, resource })),
  ),
]

/** Kafka never answers some requests that it cannot read. */
const ANSWER_MS = 5000

const RESOURCES = ['', 'a', 'b', 'g', 'h', 'x', '1', NEW_TOPIC]

/** Returns what the answer says of each resource: it is absent, shown, or refused with a code. */
async function observe(wire: Wire, example: Example, idOfA: string): Promise<ReadonlyMap<string, string>> {
  const sent = send(wire, example, idOfA)
  const late = new Promise<null>(resolve => setTimeout(resolve, ANSWER_MS, null).unref())
  const answer = await Promise.race([sent, late])
  if (answer === null) await wire.close()
  const { codes, names } = look(answer, idOfA)
  return new Map(
    RESOURCES.map(resource => {
      const denied = [...(codes.get(resource) ?? [])].filter(code => AUTHORIZATION.has(code))
      const shown = names.has(resource) ? 'shown' : 'absent'
      return [resource, denied.length === 0 ? shown : denied.map(code => errorOf(code)!.name).join(' ')]
    }),
  )
}

const skip = kafkaAbsence() ?? false

test('each API refuses the same resources with the same codes as Apache Kafka, except for known differences', {
  skip,
  timeout: 300_000,
}, async t => {
  const kafka = await startApacheKafka(t, {
    users: { ada: PASSWORD },
    properties: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
      'offsets.topic.num.partitions': '1',
      'group.initial.rebalance.delay.ms': '0',
    },
  })
  const admin = await connect({ port: kafka.port })
  t.after(() => admin.close())
  await eventually(
    'Kafka coordinates groups',
    async () => {
      // Kafka makes its topic of offsets when a client looks for a coordinator.
      await admin.send(findCoordinator, 3, { key: 'g', keyType: 0 })
      await restore(admin)
      const { topics } = await admin.send(offsetFetch, 7, { groupId: 'h', topics: null, requireStable: false })
      return topics.length === 1
    },
    60_000,
  )
  const world = await startWorld(t)
  const seen = new Set<Difference>()
  const unexplained: string[] = []
  let count = 0
  for (const grant of grants) {
    const policy = policyOf(new Map(grant === null ? [] : [['ada', [grant]]]), new Set(), ADA)
    let here = await world.connectAs(policy)
    await setRule(admin, grant)
    let there = await connectAsAda(kafka.saslPort!)
    const said = grant === null ? 'no rule' : `${grant.resourceType} ${grant.operation} ${grant.resource}`
    for (const example of examples) {
      const [name, version, , ...needs] = example
      if (needs.length === 0 || betweenBrokers.some(api => api.name === name)) continue
      const [ours, theirs] = [await restore(world.admin), await restore(admin)]
      if (here.socket.destroyed) here = await world.connectAs(policy)
      if (there.socket.destroyed) there = await connectAsAda(kafka.saslPort!)
      const [one, other] = [await observe(here, example, ours), await observe(there, example, theirs)]
      count++
      for (const resource of RESOURCES) {
        if (one.get(resource) === other.get(resource)) continue
        const line = `${name} ${version}, ${said}: ${resource || 'whole'}: ${one.get(resource)}, ${other.get(resource)}`
        const known = differences.find(({ shows }) => shows.test(line))
        if (known === undefined) unexplained.push(line)
        else seen.add(known)
      }
    }
    await here.close()
    await there.close()
  }
  t.diagnostic(`${count} requests are compared`)
  assert.deepEqual(unexplained, [])
  assert.deepEqual(
    differences.filter(each => !seen.has(each)).map(({ why }) => why),
    [],
    'every known difference is still there',
  )
})

/** Gives ada this rule and no other. Kafka's operation DELETE on groups is the meaning of WRITE here. */
async function setRule(admin: Wire, grant: Grant | null): Promise<void> {
  const any = {
    ...{ resourceTypeFilter: 1, resourceNameFilter: null, patternTypeFilter: 1, principalFilter: null },
    ...{ hostFilter: null, operation: 1, permissionType: 1 },
  }
  await admin.send(deleteAcls, 3, { filters: [any] })
  if (grant !== null) {
    const { patternType, ...binding } = bindingOf({ principal: 'ada', ...grant })
    const isDeletion = grant.resourceType === 'GROUP' && grant.operation === 'WRITE'
    const operation = isDeletion ? OPERATION_CODES.DELETE : binding.operation
    const creations = [{ ...binding, resourcePatternType: patternType, operation }]
    const { results } = await admin.send(createAcls, 3, { creations })
    assert.equal(results[0]!.errorCode, 0, results[0]!.errorMessage ?? '')
  }
  await eventually('Kafka has the rule', async () => {
    const { resources } = await admin.send(describeAcls, 3, any)
    return resources.length === (grant === null ? 0 : 1)
  })
}

const SASL_HANDSHAKE = 17
const SASL_AUTHENTICATE = 36

/** Connects to Kafka and authenticates by SASL/PLAIN. */
async function connectAsAda(port: number): Promise<Wire> {
  const wire = await connect({ port })
  await wire.raw(frame(SASL_HANDSHAKE, 1, withLength(Buffer.from('PLAIN'), 2)))
  const shaken = await wire.answer()
  assert.equal(shaken.readInt16BE(4), 0, 'Kafka offers PLAIN')
  await wire.raw(frame(SASL_AUTHENTICATE, 0, withLength(Buffer.from(`\0ada\0${PASSWORD}`), 4)))
  const authenticated = await wire.answer()
  assert.equal(authenticated.readInt16BE(4), 0, 'Kafka knows the password')
  return wire
}

function withLength(bytes: Buffer, width: 2 | 4): Buffer {
  const length = Buffer.alloc(width)
  length.writeUIntBE(bytes.length, 0, width)
  return Buffer.concat([length, bytes])
}

/** A request with header version 1. Its correlation id is negative, so that `wire` claims no answer to it. */
function frame(apiKey: number, version: number, body: Buffer): Buffer {
  const head = Buffer.alloc(8)
  head.writeInt16BE(apiKey, 0)
  head.writeInt16BE(version, 2)
  head.writeInt32BE(-1, 4)
  return withLength(Buffer.concat([head, withLength(Buffer.from('test'), 2), body]), 4)
}

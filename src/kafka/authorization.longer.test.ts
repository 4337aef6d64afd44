// Sends the examples of every API with every kind of rule, and compares each resource of the answer with the needs
// that the handlers declare. This file decides once more which operations a rule allows, in the
// simplest way, from the table of operations that follow from rules.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AUTHORIZATION,
  CODES,
  keepBytes,
  look,
  restore,
  send,
  startWorld,
  type Type,
} from '../../testing/authorization-world.ts'
import { type Example, examples, NEW_TOPIC } from '../../testing/permission-examples.ts'
import type { Operation, ResourceType } from '../api/words.ts'
import type { Grant } from '../auth/clients/acl-rules.ts'
import { type Client, derivations, type Policy, policyOf } from '../auth/clients/policy.ts'
import { handlers } from './handlers/all.ts'

const ADA: Client = { name: 'ada', groups: ['team'] }

const everyGrant: readonly (Grant | null)[] = [
  null,
  ...(['TOPIC', 'GROUP'] as const).flatMap(resourceType =>
    (['READ', 'WRITE'] as const).flatMap(operation =>
      ['*', ...(resourceType === 'TOPIC' ? ['a', 'a*', 'A', 'A*', 'aa'] : ['g', 'g*', 'G', 'G*', 'gg'])].map(
        resource => ({
          ...{ resourceType, operation, resource },
        }),
      ),
    ),
  ),
]

/** The simplest form of a policy. */
function allows(grant: Grant | null, operation: string, type: Type, name: string | null): boolean {
  const derivation = (
    derivations[type] as Record<string, { of: ResourceType; rules: readonly Operation[]; any?: true }>
  )[operation]
  if (grant === null || derivation === undefined || derivation.of !== grant.resourceType) return false
  if (!derivation.rules.includes(grant.operation)) return false
  if (name === null || derivation.any === true) return true
  const { resource } = grant
  return resource.endsWith('*') ? name.startsWith(resource.slice(0, -1)) : name === resource
}

interface ReadNeed {
  readonly scope: string
  readonly type: Type
  readonly name: string
  isMet(name: string | null): boolean
}

function readNeed(text: string, isAllowed: (operation: string, type: Type, name: string | null) => boolean): ReadNeed {
  const [, scope, first, second] = /^(\w+): (.+?)(?: or (.+))?$/.exec(text)!
  const read = (permission: string) => {
    const [operation, type, name] = permission.split(' ') as [string, Type, string]
    return { operation, type, name: name.replace('#', '') }
  }
  const { type, name } = read(first!)
  const isMet = (asked: string | null) =>
    [first, second].some(each => {
      if (each === undefined) return false
      const said = read(each)
      const about = said.type === type ? asked : said.name === 'each' ? null : said.name
      return isAllowed(said.operation, said.type, about)
    })
  return { scope: scope!, type, name, isMet }
}

/** Checks the answer to an example against its needs. */
function check(
  [name, version, , ...texts]: Example,
  answer: unknown,
  idOfA: string,
  isAllowed: (operation: string, type: Type, name: string | null) => boolean,
  what: string,
): void {
  const said = `${name} ${version}, ${what}: ${JSON.stringify(answer, keepBytes)}`
  const { codes, names } = look(answer, idOfA)
  const all = new Set([...codes.values()].flatMap(each => [...each]))
  const needs = texts.map(text => readNeed(text, isAllowed))
  const whole = needs.find(need => need.scope === 'request' && !need.isMet(need.name === 'each' ? null : need.name))
  if (whole !== undefined) {
    // This API is only between brokers, and has no errors.
    if (name === 'DescribeDeliveries') assert.deepEqual((answer as { groups: unknown[] }).groups, [], said)
    // A request without rows, and without an error of its own, has no place for the code.
    else if (all.size > 0 || codes.size > 0)
      assert.deepEqual(
        [...all].filter(code => code !== 0),
        [CODES[whole.type]],
        said,
      )
    return
  }
  const codesOf = (type: Type, resource: string) => {
    const shown = type === 'CLUSTER' ? '1' : resource
    return [...(codes.get(shown) ?? codes.get('') ?? [])]
  }
  const isGroupDenied = needs.some(need => need.scope === 'row' && need.type === 'GROUP' && !need.isMet(need.name))
  for (const need of needs) {
    if (need.scope === 'row') {
      if (need.type === 'TOPIC' && name === 'OffsetFetch' && isGroupDenied) continue
      for (const resource of need.name === 'each' ? [...codes.keys()].filter(key => key !== '') : [need.name]) {
        const found = codesOf(need.type, resource)
        const isCreated = needs.every(each => each.name !== NEW_TOPIC || each.isMet(NEW_TOPIC))
        if (!need.isMet(resource) || !isCreated) assert.deepEqual(found, [CODES[need.type]], `${resource}: ${said}`)
        else if (need.type !== 'TRANSACTIONAL_ID') {
          const others = needs.filter(each => each.name === need.name && !each.isMet(need.name))
          if (others.length === 0) assert.ok(!found.includes(CODES[need.type]), `${resource}: ${said}`)
        }
      }
    } else if (need.scope === 'hidden' && need.type === 'CLUSTER') {
      const { clusterAuthorizedOperations: bits } = answer as { clusterAuthorizedOperations: number }
      assert.equal(bits !== 0, need.isMet(need.name), said)
    } else if (need.scope === 'hidden' && need.name === 'each' && !isGroupDenied) {
      for (const resource of need.type === 'TOPIC' ? ['a'] : ['g']) {
        assert.equal(names.has(resource), need.isMet(resource), `${resource}: ${said}`)
      }
    }
  }
  for (const need of needs) {
    if (need.scope !== 'request' || need.type === 'TRANSACTIONAL_ID') continue
    assert.ok(!all.has(CODES[need.type]), `${need.type}: ${said}`)
  }
  if (needs.length === 0) assert.ok(![...all].some(code => AUTHORIZATION.has(code)), said)
}

test('every API answers every kind of rule with the error of each resource, as its declared needs say', {
  timeout: 300_000,
}, async t => {
  const world = await startWorld(t)
  assert.deepEqual(
    handlers.map(({ api }) => api.name).filter(name => !examples.some(([example]) => example === name)),
    [],
    'each API has an example',
  )
  let count = 0
  const run = async (policy: Policy, isAllowed: Parameters<typeof check>[3], what: string) => {
    let wire = await world.connectAs(policy)
    for (const example of examples) {
      const idOfA = await restore(world.admin)
      if (wire.socket.destroyed) wire = await world.connectAs(policy)
      check(example, await send(wire, example, idOfA), idOfA, isAllowed, what)
      count++
    }
    await wire.close()
  }
  for (const grant of everyGrant) {
    const isAllowed = (operation: string, type: Type, name: string | null) => allows(grant, operation, type, name)
    const said = JSON.stringify(grant)
    const principals = grant === null ? ['stranger'] : ['ada', 'group:team']
    for (const principal of principals) {
      const grants = new Map(grant === null ? [] : [[principal, [grant]]])
      await run(policyOf(grants, new Set(), ADA), isAllowed, `${principal} ${said}`)
    }
    if (grant !== null) {
      const grants = new Map([['bob', [grant]]])
      await run(policyOf(grants, new Set(), ADA), () => false, `bob ${said}`)
    }
  }
  await run(policyOf(new Map(), new Set(['ada']), ADA), () => true, 'a super-user')
  await run(policyOf(new Map(), new Set(['group:team']), ADA), () => true, 'a group of super-users')
  await run(policyOf(new Map(), new Set(), { ...ADA, isBroker: true }), () => true, 'a broker')
  t.diagnostic(`${count} requests`)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../base/random.ts'
import { type Grant, matches } from './acl-rules.ts'
import { EVERYTHING, isImplied, policyOf } from './policy.ts'

const topic = (operation: Grant['operation'], resource: string): Grant => ({
  resourceType: 'TOPIC',
  resource,
  operation,
})
const group = (operation: Grant['operation'], resource: string): Grant => ({
  resourceType: 'GROUP',
  resource,
  operation,
})
const ada = { name: 'ada', groups: [] }
const policy = (...grants: readonly Grant[]) => policyOf(new Map([['ada', grants]]), new Set(), ada)

test('a prefix matches names in the same case, `*` all names, and a rule for topics grants no group', () => {
  const one = policy(topic('READ', 'a*'), topic('WRITE', 'logs'), group('READ', '*'))
  const reads = (name: string) => one.allows('READ', 'TOPIC', name)
  assert.deepEqual(['a', 'ab', 'A', 'b', ''].map(reads), [true, true, false, false, false])
  assert.deepEqual(
    ['logs', 'logs2', 'Logs'].map(name => one.allows('WRITE', 'TOPIC', name)),
    [true, false, false],
  )
  assert.equal(one.allows('READ', 'GROUP', 'anything'), true)
  assert.equal(one.allows('WRITE', 'GROUP', 'anything'), false)
  assert.equal(policy(topic('READ', '*')).allows('READ', 'GROUP', 'g'), false)
})

test('rules of names and prefixes in any order match what each of them matches alone', () => {
  const random = seededRandom(7)
  const word = () => Array.from({ length: 1 + random.below(4) }, () => 'abA-'[random.below(4)]).join('')
  for (let round = 0; round < 200; round++) {
    const patterns = Array.from({ length: 1 + random.below(12) }, () => word() + (random.below(2) === 0 ? '*' : ''))
    const one = policy(...patterns.map(each => topic('READ', each)))
    for (let i = 0; i < 20; i++) {
      const name = word()
      const expected = patterns.some(each => matches(each, name))
      assert.equal(one.allows('READ', 'TOPIC', name), expected, `${name} by ${patterns.join(' ')}`)
    }
  }
})

test('a client has the rules of its own name and of each of its groups, and no name is taken for a group', () => {
  const grants = new Map([
    ['ada', [topic('READ', 'a')]],
    ['group:ops', [topic('READ', 'b')]],
    ['ops', [topic('READ', 'c')]],
  ])
  const allowed = (client: Parameters<typeof policyOf>[2]) =>
    ['a', 'b', 'c'].filter(name => policyOf(grants, new Set(), client).allows('READ', 'TOPIC', name)).join('')
  assert.equal(allowed({ name: 'ada', groups: [] }), 'a')
  assert.equal(allowed({ name: 'ada', groups: ['ops', 'others'] }), 'ab')
  assert.equal(allowed({ name: 'ops', groups: [] }), 'c')
  assert.equal(allowed({ name: 'group:ops', groups: [] }), '')
})

test('super-users, members of a group of super-users and other brokers may do everything', () => {
  const of = (client: Parameters<typeof policyOf>[2]) => policyOf(new Map(), new Set(['ada', 'group:ops']), client)
  assert.equal(of(ada), EVERYTHING)
  assert.equal(of({ name: 'bob', groups: ['ops'] }), EVERYTHING)
  assert.equal(of({ name: 'broker', groups: [], isBroker: true }), EVERYTHING)
  const none = of({ name: 'group:ops', groups: [] })
  assert.equal(none.allows('READ', 'TOPIC', 'a'), false)
  assert.equal(none.allows('ALTER', 'CLUSTER', 'kafka-cluster'), false)
})

test('an operation is implied for a pattern if a rule covers everything that the pattern matches', () => {
  const rules = [topic('WRITE', 'a*'), group('READ', 'g')]
  const implied = (pattern: string) => isImplied(rules, 'CREATE', 'TOPIC', pattern)
  assert.deepEqual(['a', 'ab', 'ab*', 'a*', '*', 'b', ''].map(implied), [true, true, true, true, false, false, false])
  assert.equal(isImplied(rules, 'DESCRIBE', 'GROUP', 'g'), true)
  assert.equal(isImplied(rules, 'DESCRIBE', 'GROUP', 'g*'), false)
  assert.equal(isImplied(rules, 'DELETE', 'TOPIC', 'a'), false)
  assert.equal(isImplied(rules, 'IDEMPOTENT_WRITE', 'CLUSTER', 'kafka-cluster'), true)
})

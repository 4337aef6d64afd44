// Measures the cost of ACLs: a broker that checks 1,000 rules of its client beside one without ACLs, both on a listener
// without TLS and SASL, in turns. The client is the principal ANONYMOUS.

import { assert } from '../src/base/assert.ts'
import { adminClient } from '../testing/admin-client.ts'
import { freePort } from '../testing/free-port.ts'
import type { Finding, Harness, Question } from './harness.ts'
import { compareInTurns, type Side, type Way } from './in-turns.ts'

const RULES = 1_000
const FILL_BYTES = 3e9
const KEPT = { 'retention.bytes': String(64 * 2 ** 20) }
/** Small enough for the tail cache to hold all of it. */
const TAIL_BYTES = 48 * 2 ** 20

const WAYS: readonly Way[] = [
  { name: 'produce, 40 in flight', mode: 'produce', partitions: 16, connections: 8, inFlight: 5 },
  { name: 'tail fetch, 4 consumers', mode: 'fetch', partitions: 4, connections: 4, inFlight: 1 },
]

export const acls: Question = {
  name: 'acls',
  asks: `produce and fetch with ${RULES} rules of the client beside a broker without ACLs, in turns`,
  async answer(harness) {
    const findings: Finding[] = []
    for (const way of WAYS) {
      const ours = await start(harness, way, true)
      const base = await start(harness, way, false)
      findings.push(...(await compareInTurns(harness, way, { ours, base, baseName: 'a broker without ACLs' })))
    }
    return findings
  },
}

async function start(harness: Harness, way: Way, withAcls: boolean): Promise<Side> {
  const port = await freePort()
  const broker = await harness.broker({
    'svc.storage.worker.tick-interval': '1s',
    'svc.admin.security-enabled': 'false',
    'svc.broker.sasl.enabled': 'true',
    'svc.broker.acl.enabled': String(withAcls),
    'svc.broker.listeners[0].name': 'OPEN',
    'svc.broker.listeners[0].port': String(port),
    'svc.broker.listeners[0].security': 'plaintext',
  })
  if (withAcls) await grant(broker.url)
  const open = { port, pid: broker.pid }
  const isProduce = way.mode === 'produce'
  await harness.topic(port, 'bench', way.partitions, isProduce ? KEPT : {})
  const { partitions, connections, inFlight } = way
  const fill = { partitions, connections, 'in-flight': inFlight, bytes: isProduce ? FILL_BYTES : TAIL_BYTES }
  await harness.load('produce', open, fill)
  return { ...open, end: async () => void (await broker.kill('SIGKILL')) }
}

/** Adds the rules: most for other topics, exact names and prefixes in equal parts. */
async function grant(url: string): Promise<void> {
  const admin = adminClient(url)
  const others = Array.from({ length: RULES - 2 }, (_, at) => (at % 2 === 0 ? `team-${at}` : `team-${at}-*`))
  const rules = [
    ...others.map(resource => ({ resource, operation: 'READ' })),
    { resource: 'bench', operation: 'READ' },
    { resource: 'bench', operation: 'WRITE' },
  ]
  for (const rule of rules) {
    const { status, body } = await admin.ask('POST', '/api/v1/acls', {
      principal: 'ANONYMOUS',
      resourceType: 'TOPIC',
      ...rule,
    })
    assert(status < 300, `the rule is refused: ${JSON.stringify(body)}`)
  }
}

// Each client comes in by each way that it has: TLS, mutual TLS, and each SASL mechanism over the listeners on which
// the specification allows it. It produces records and consumes them in a group, and the test compares them. A wrong
// login fails with the client's own error. On Redis there are two brokers, and each way is also taken through the
// second one. `npm test` takes one way of each client, another one for each. With --all each client takes a third of
// the mechanisms on the embedded store, on one of the listeners that have it, and TLS with or without a certificate
// of its own; together the clients take each mechanism a few times. On Redis and on a Redis Cluster a third of the
// clients take one way each. The seed draws which. KETCH_LONG=1 takes every way on any store. KETCH_KEEP=1 writes the
// outcome to docs/compatibility.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { atLength, drawnBy, isLong } from '../../testing/at-length.ts'
import { noOpenssl } from '../../testing/certificate.ts'
import { chosenStore, chosenStoreSettings, nameOnChosenStore, onChosenStore } from '../../testing/chosen-store.ts'
import { keepFindings } from '../../testing/compatibility.ts'
import { seed } from '../../testing/seed.ts'
import { createTopicOfAll } from '../../testing/topic.ts'
import { type Client, compareRecords, makeRecords } from '../client.ts'
import { CLIENTS } from '../clients.ts'
import { javaConsole } from '../java/client.ts'
import type { Way } from './cases.ts'
import { type Secured, type SecuredBroker, startSecured } from './secured.ts'
import { MECHANISMS } from './security.ts'

const isOnEmbedded = chosenStore() === 'embedded'
/** A run with --all takes one of this many parts of the mechanisms, and on Redis of the clients. */
const PARTS = 3
const RECORDS = 200
const PARTITIONS = 2

/** The clock of another process on the same machine may differ by rounding. */
const CLOCK_SLACK_MS = 2

/** librdkafka's binding for Node tries for 30 s before it gives up. */
const LONGEST_MS = 120_000
/** Every way of every client takes 5 minutes on a quiet machine, and 10 beside other work. */
const LONGEST_MATRIX_MS = 1_200_000

const present = CLIENTS.filter(client => client.absence() === null)

for (const client of CLIENTS) {
  const absence = client.absence()
  if (absence !== null) test(`${client.name} logs in`, { skip: absence }, () => {})
}

/** TLS, with or without a certificate of the client, and the mechanisms. */
const KINDS = ['TLS', ...MECHANISMS] as const

/**
 * Returns the ways that a client takes in this run. `at` is its place among the clients: neighbours take other ways.
 * Without a login and without TLS every client comes in in ../matrix.stores.test.ts.
 */
function waysOf(client: Client, at: number, { ways }: Secured): readonly Way[] {
  const has = ways.filter(({ mechanism }) => mechanism === null || client.lacks[mechanism] === undefined)
  if (isLong) return has
  const logins = has.filter(({ mechanism }) => mechanism !== null)
  if (!atLength(true, false)) return [logins[at % logins.length]!]
  if (!isOnEmbedded) {
    if ((at + seed) % PARTS !== 0) return []
    return [logins[(2 * Math.floor(at / PARTS) + Math.floor(seed / PARTS)) % logins.length]!]
  }
  const secured = has.filter(({ door }) => door !== 'plaintext')
  return drawnBy(at + seed, PARTS, KINDS).flatMap(kind => {
    const alike = secured.filter(({ mechanism }) => (mechanism ?? 'TLS') === kind)
    return alike.length === 0 ? [] : [alike[(at + seed) % alike.length]!]
  })
}

const options = { skip: noOpenssl, timeout: LONGEST_MATRIX_MS }
const LOGS_IN = isLong
  ? 'each client logs in by every way that it has'
  : 'clients log in by the ways that the seed draws'
test(LOGS_IN, options, async t => {
  const count = isOnEmbedded ? 1 : 2
  const secured = await startSecured(t, count, () => chosenStoreSettings(t))
  const outcomes = new Map<string, 'passed' | 'FAILED'>()
  for (const [at, client] of present.entries()) {
    for (const way of waysOf(client, at, secured)) {
      for (const [number, broker] of (await secured.brokersAt(way.door)).entries()) {
        const topic = `${client.name}-${way.name.replaceAll(' ', '-')}-${number}`
        const name = `${client.name}: ${way.name}${number === 0 ? '' : ', through the second broker'}`
        await t.test(name, { timeout: 2 * LONGEST_MS }, async () => {
          outcomes.set(`${client.name} ${way.name}`, 'FAILED')
          const ids = Array.from({ length: count }, (_, id) => id)
          await createTopicOfAll(broker.plaintext, topic, PARTITIONS, ids, { 'retention.ms': '-1' })
          await comeIn(client, way, broker, topic)
          if (way.wrong !== null) await beRefused(client, way, broker, topic)
          outcomes.set(`${client.name} ${way.name}`, 'passed')
        })
      }
    }
  }
  if (process.env.KETCH_KEEP === '1') keep(secured, outcomes)
})

async function comeIn(client: Client, way: Way, broker: SecuredBroker, topic: string): Promise<void> {
  const textOnly = client === javaConsole
  const records = makeRecords({ count: RECORDS, partitions: PARTITIONS, codecs: ['none'], seed: 1, textOnly })
  const address = broker.address(way.door)
  const from = systemClock.now() - CLOCK_SLACK_MS
  const sent = await client.produce(address, topic, records, way.security)
  const sentBetween = { from, to: systemClock.now() + CLOCK_SLACK_MS }
  const received = await client.consume(address, topic, `readers-of-${topic}`, sent.length, way.security)
  compareRecords(client.asRead ? sent.map(client.asRead) : sent, received, sentBetween)
}

async function beRefused(client: Client, way: Way, broker: SecuredBroker, topic: string): Promise<void> {
  const records = makeRecords({ count: 1, partitions: 1, codecs: ['none'], seed: 1 })
  await assert.rejects(client.produce(broker.address(way.door), topic, records, way.wrong!), error => {
    assert.match(inspect(error, { depth: null }), client.refused)
    return true
  })
}

function keep({ ways }: Secured, outcomes: ReadonlyMap<string, 'passed' | 'FAILED'>): void {
  const passed = [...outcomes.values()].filter(outcome => outcome === 'passed').length
  const store = chosenStore()
  const second = store === 'embedded' ? '' : ' Each way was also taken through a second broker on the same store.'
  const missing = present.flatMap(client =>
    Object.entries(client.lacks).map(([mechanism, why]) => [client.name, mechanism, why] as const),
  )
  keepFindings(nameOnChosenStore('security'), {
    title: `Clients with TLS and SASL${onChosenStore()}`,
    order: 2,
    command: [
      'KETCH_KEEP=1 KETCH_LONG=1',
      ...(store === 'embedded' ? [] : [`KETCH_STORE=${store}`]),
      'node --test e2e/security/matrix.stores.test.ts',
    ].join(' '),
    text: [
      `Each client produces ${RECORDS} records, consumes them in a group, and each record is compared. Then it tries a wrong password, or a token of another provider, and must fail with its own error.${second} ${passed} of ${outcomes.size} combinations passed.`,
    ],
    tables: [
      {
        caption: null,
        head: ['client', 'version', ...ways.map(({ name }) => name)],
        rows: present.map(client => [
          client.name,
          client.version(),
          ...ways.map(({ name }) => outcomes.get(`${client.name} ${name}`) ?? ''),
        ]),
      },
      { caption: 'Mechanisms that a client does not have here:', head: ['client', 'mechanism', 'why'], rows: missing },
    ],
  })
}

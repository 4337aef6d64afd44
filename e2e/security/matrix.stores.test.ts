// Each client comes in by each way that it has: TLS, mutual TLS, and each SASL mechanism over the listeners on which
// the specification allows it. It produces records and consumes them in a group, and the test compares them. A wrong
// login fails with the client's own error. On Redis there are two brokers, and each way is also taken through the
// second one. `npm test` takes one way of each client, another one for each. With --all each client takes each
// mechanism on the embedded store, on one of the listeners that have it, and TLS with or without a certificate of its
// own; the seed draws which. KETCH_LONG=1 takes every way on any store. KETCH_KEEP=1 writes the outcome to
// docs/compatibility.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { atLength, isLong } from '../../testing/at-length.ts'
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

const isShort = !isLong && !atLength(chosenStore() === 'embedded', false)
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

/**
 * Returns the ways that a client takes in this run. `at` is its place among the clients: neighbours take other ways.
 * Without a login and without TLS every client comes in in ../matrix.stores.test.ts.
 */
function waysOf(client: Client, at: number, { ways }: Secured): readonly Way[] {
  const has = ways.filter(({ mechanism }) => mechanism === null || client.lacks[mechanism] === undefined)
  if (isLong) return has
  const logins = has.filter(({ mechanism }) => mechanism !== null)
  if (isShort) return [logins[at % logins.length]!]
  const secured = has.filter(({ door }) => door !== 'plaintext')
  const alike = Object.values(Object.groupBy(secured, ({ mechanism }) => mechanism ?? 'TLS'))
  return alike.map((group, kind) => group![(at + kind + seed) % group!.length]!)
}

const options = { skip: noOpenssl, timeout: LONGEST_MATRIX_MS }
const LOGS_IN = isLong ? 'by every way that it has' : isShort ? 'by one way that it has' : 'with every mechanism'
test(`each client logs in ${LOGS_IN}`, options, async t => {
  const count = chosenStore() === 'embedded' ? 1 : 2
  const secured = await startSecured(t, count, () => chosenStoreSettings(t))
  const outcomes = new Map<string, 'passed' | 'FAILED'>()
  for (const [at, client] of present.entries()) {
    for (const way of waysOf(client, at, secured)) {
      for (const [number, broker] of secured.brokersAt(way.door).entries()) {
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

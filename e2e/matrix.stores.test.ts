// Each client reads records that another client wrote. The test compares bytes, order, offsets, timestamps, and each
// codec that both have, on the store that KETCH_STORE names. `npm test` runs a ring, in which each client reads the
// records of the client before it; with --all each client reads the records of a third of the clients on the embedded
// store. On Redis a third of the clients write, and for each of them another one reads. The seed draws which. A pair
// has 4,000 records on the embedded store, 2,000 in the ring of `npm test`, and 1,000 on Redis. KETCH_LONG=1 tests
// every pair on any store, with 100,000 records. KETCH_KEEP=1 writes the outcome to docs/compatibility.

import { test } from 'node:test'
import { systemClock } from '../src/base/clock.ts'
import { atLength, drawnBy, isLong } from '../testing/at-length.ts'
import { chosenStore, nameOnChosenStore, onChosenStore } from '../testing/chosen-store.ts'
import { keepFindings } from '../testing/compatibility.ts'
import { type BrokerProcess, startBrokerProcess } from '../testing/process.ts'
import { seed } from '../testing/seed.ts'
import { createTopic } from '../testing/topic.ts'
import { type Client, CODECS, type Codec, compareRecords, makeRecords, type Sent } from './client.ts'
import { CLIENTS } from './clients.ts'
import { javaConsole } from './java/client.ts'

const isOnEmbedded = chosenStore() === 'embedded'
const RECORDS = isLong ? 100_000 : isOnEmbedded ? atLength(4_000, 2_000) : 1_000
/** A run with --all takes one of this many parts of the pairs, and on Redis of the writers. */
const PARTS = 3
const PARTITIONS = 4

/** The clock of another process on the same machine may differ by rounding. */
const CLOCK_SLACK_MS = 2

interface Produced {
  readonly topic: string
  readonly sent: readonly Sent[]
  readonly sentBetween: { readonly from: number; readonly to: number }
}

async function produce(
  broker: BrokerProcess,
  client: Client,
  codecs: readonly Codec[],
  seed: number,
): Promise<Produced> {
  const topic = `from-${client.name}-${codecs.length}`
  // The records have old timestamps. Retention by time would drop them before they are read.
  await createTopic(broker, topic, PARTITIONS, { 'retention.ms': '-1' })
  const textOnly = client === javaConsole
  const records = makeRecords({ count: RECORDS, partitions: PARTITIONS, codecs, seed, textOnly })
  const from = systemClock.now() - CLOCK_SLACK_MS
  const sent = await client.produce(broker.address, topic, records)
  return { topic, sent, sentBetween: { from, to: systemClock.now() + CLOCK_SLACK_MS } }
}

/** The result of a pair, in the words of docs/compatibility. */
type Outcome = 'passed' | 'FAILED'

/** Returns the clients that read the records of a client; `at` is its place among those that are present. */
function readersOf(at: number, present: readonly Client[]): readonly Client[] {
  if (isLong) return present
  if (!atLength(true, false)) return [present[(at + 1) % present.length]!]
  if (isOnEmbedded) return drawnBy(at + seed, PARTS, present)
  return (at + seed) % PARTS === 0 ? [present[(at + 1 + Math.floor(seed / PARTS)) % present.length]!] : []
}

for (const client of CLIENTS) {
  const absence = client.absence()
  if (absence !== null) test(`${client.name} reads and writes`, { skip: absence }, () => {})
}

test('clients read what every client wrote', async t => {
  const present = CLIENTS.filter(client => client.absence() === null)
  const broker = await startBrokerProcess(t, { settings: { 'svc.broker.rebalance-delay': '0ms' } })
  const outcomes = new Map<string, Outcome>()
  for (const [number, producer] of present.entries()) {
    // Each set of codecs has a topic, because not every reader knows all codecs of the writer.
    const topics = new Map<string, Promise<Produced>>()
    for (const consumer of readersOf(number, present)) {
      const name = `${producer.name} to ${consumer.name}, ${RECORDS} records`
      await t.test(name, { timeout: 600_000 }, async () => {
        outcomes.set(`${producer.name} ${consumer.name}`, 'FAILED')
        const codecs = producer.codecs.filter(codec => consumer.codecs.includes(codec))
        const set = codecs.join()
        if (!topics.has(set)) topics.set(set, produce(broker, producer, codecs, number + 1))
        const { topic, sent, sentBetween } = await topics.get(set)!
        const group = `${topic}-read-by-${consumer.name}`
        const received = await consumer.consume(broker.address, topic, group, sent.length)
        compareRecords(consumer.asRead ? sent.map(consumer.asRead) : sent, received, sentBetween)
        outcomes.set(`${producer.name} ${consumer.name}`, 'passed')
      })
    }
  }
  if (process.env.KETCH_KEEP === '1') keep(outcomes)
})

function keep(outcomes: ReadonlyMap<string, Outcome>): void {
  const present = CLIENTS.filter(client => client.absence() === null)
  const passed = [...outcomes.values()].filter(outcome => outcome === 'passed').length
  const store = chosenStore()
  const environment = [
    ...(store === 'embedded' ? [] : [`KETCH_STORE=${store}`]),
    ...(RECORDS === 100_000 ? ['KETCH_LONG=1'] : []),
  ]
  keepFindings(nameOnChosenStore('clients'), {
    title: `Clients${onChosenStore()}`,
    order: 1,
    command: ['KETCH_KEEP=1', ...environment, 'node --test e2e/matrix.stores.test.ts'].join(' '),
    text: [
      `Every client produces ${RECORDS.toLocaleString('en')} records. Every client, also the producing one, consumes them in a group, and each record is compared: keys, null keys, headers, null, empty and large values, text that is not ASCII, timestamps, each codec that both clients have, order, offsets. ${passed} of ${present.length ** 2} pairs passed.`,
    ],
    tables: [
      {
        caption: null,
        head: ['client', 'version', 'source', 'codecs', 'cannot send', 'its records read by', 'reads the records of'],
        rows: present.map(client => [
          client.name,
          client.version(),
          client.from,
          client.codecs.length === CODECS.length ? 'all' : client.codecs.join(', '),
          client.cannotSend ?? '',
          tally(outcomes, present, consumer => `${client.name} ${consumer.name}`),
          tally(outcomes, present, producer => `${producer.name} ${client.name}`),
        ]),
      },
    ],
  })
}

/** Returns `9 of 9`, and the names of the clients that failed. */
function tally(
  outcomes: ReadonlyMap<string, Outcome>,
  others: readonly Client[],
  pair: (other: Client) => string,
): string {
  const failed = others.filter(other => outcomes.get(pair(other)) !== 'passed').map(({ name }) => name)
  const count = `${others.length - failed.length} of ${others.length}`
  return failed.length === 0 ? count : `${count}; not ${failed.join(', ')}`
}

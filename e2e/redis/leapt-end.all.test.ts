// After brokers and Redis were lost together, the end of a log leaps: no record will ever have the offsets in
// between. A client skips them without a new record: it reaches the end, and reads the records that follow.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sleep, systemClock } from '../../src/base/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { startBrokerProcess } from '../../testing/process.ts'
import { noRedis, startRedis } from '../../testing/redis.ts'
import { createTopic } from '../../testing/topic.ts'
import { CLIENTS } from '../clients.ts'
import { runCommand } from '../command.ts'
import { javaConsole } from '../java/client.ts'
import { kcat } from '../kcat/client.ts'

const LEAP = 100_000_000

test('clients skip the offsets that an end has leapt over, with and without records after them', {
  skip: kcat.absence() ?? noRedis,
}, async t => {
  const redis = await startRedis(t, { appendfsync: 'everysec' })
  const broker = await startBrokerProcess(t, { settings: { 'svc.redis.uri': redis.uri, 'svc.broker.expiry': '3s' } })
  await createTopic(broker, 't', 1)
  const send = (value: string) => runCommand('kcat', ['-P', '-b', broker.address, '-t', 't'], { input: value })
  for (const value of ['one', 'two', 'three']) await send(value)
  await sleep(systemClock, 2_000)
  await broker.kill('SIGKILL')
  await redis.stop('SIGKILL')
  await redis.start()
  await broker.start()

  const query = () => runCommand('kcat', ['-Q', '-b', broker.address, '-t', 't:0:-1'])
  await eventually('the partition is led', async () => `${await query()}`.includes(`offset ${3 + LEAP}`), 60_000)
  const toEnd = ['-C', '-b', broker.address, '-t', 't', '-e', '-q', '-f', '%o %s\n']
  assert.equal(`${await runCommand('kcat', toEnd)}`, '0 one\n1 two\n2 three\n')
  assert.equal(
    `${await runCommand('kcat', [...toEnd, '-o', String(LEAP / 2)])}`,
    '',
    'from an offset that was left out',
  )

  // Kafka's console consumer is the Java client once more.
  const readers = CLIENTS.filter(client => client !== javaConsole && client.absence() === null)
  const readings = readers.map(client => client.consume(broker.address, 't', `of-${client.name}`, 4))
  // The readers are at the end now, or soon.
  await sleep(systemClock, 5_000)
  await send('four')
  for (const [i, reading] of readings.entries()) {
    const seen = (await reading).map(({ offset, value }) => `${offset} ${value}`)
    const wanted = ['0 one', '1 two', '2 three', `${3 + LEAP} four`]
    assert.deepEqual(seen, wanted, readers[i]!.name)
  }
})

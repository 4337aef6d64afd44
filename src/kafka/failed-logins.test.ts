import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import { createLogger } from '../telemetry/logger.ts'
import { FailedLogins } from './failed-logins.ts'

function start() {
  const clock = new SimulatedClock()
  const lines: Record<string, unknown>[] = []
  const logger = createLogger({ clock, write: line => lines.push(JSON.parse(line)), format: 'logstash' })
  return { clock, lines, failed: new FailedLogins(clock, logger, 100) }
}

test('an address has one line in ten seconds for each reason, and its next line counts the failures between them', async () => {
  const { clock, lines, failed } = start()
  for (let i = 0; i < 1000; i++) failed.tell('failed', { address: '10.0.0.1', why: 'w' })
  failed.tell('failed', { address: '10.0.0.2', why: 'w' })
  failed.tell('failed', { address: '10.0.0.2', why: 'another' })
  assert.deepEqual(
    lines.map(line => [line.address, line.why, line.suppressed]),
    [
      ['10.0.0.1', 'w', undefined],
      ['10.0.0.2', 'w', undefined],
      ['10.0.0.2', 'another', undefined],
    ],
  )
  await clock.advance(10_000)
  failed.tell('failed', { address: '10.0.0.1', why: 'w' })
  assert.equal(lines.at(-1)!.suppressed, 999)
})

test('a reason with other words or numbers of the client is no other reason', () => {
  const { lines, failed } = start()
  for (let i = 0; i < 200; i++) {
    const quoted = `'host${i}' of ' ${'x'.repeat(i)}'`
    failed.tell('failed', { address: '10.0.0.1', why: `the ticket is for ${quoted}, and this broker is another` })
    failed.tell('failed', { address: '10.0.0.1', why: `a message of ${10_000 + i} bytes` })
  }
  failed.tell('failed', { address: '10.0.0.2', why: 'invalid password' })
  assert.deepEqual(
    lines.map(line => line.address),
    ['10.0.0.1', '10.0.0.1', '10.0.0.2'],
  )
})

test('any number of addresses causes at most 101 lines in ten seconds, and every failure is counted in the end', async () => {
  const { clock, lines, failed } = start()
  const told = () => lines.reduce((sum, line) => sum + 1 + Number(line.suppressed ?? 0), 0)
  for (let i = 0; i < 10_000; i++) failed.tell('failed', { address: `2001:db8::${i.toString(16)}`, why: 'w' })
  assert.equal(lines.length, 101)
  await clock.advance(10_000)
  for (let i = 0; i < 102; i++) failed.tell('failed', { address: `2001:db8:1::${i.toString(16)}`, why: 'w' })
  assert.equal(lines.length, 202)
  assert.equal(told(), 10_101)
})

test('a failed client waits for the delay, and of one address at most a hundred wait at once', async () => {
  const { clock, failed } = start()
  let answered = 0
  const count = (mayAnswer: boolean) => {
    if (mayAnswer) answered++
  }
  const waiting = Array.from({ length: 100 }, () => failed.delay('10.0.0.1').then(count))
  assert.equal(await failed.delay('10.0.0.1'), false)
  const other = failed.delay('10.0.0.2').then(count)
  await clock.advance(99)
  assert.equal(answered, 0)
  await clock.advance(1)
  await Promise.all([...waiting, other])
  assert.equal(answered, 101)
  const later = failed.delay('10.0.0.1')
  await clock.advance(100)
  assert.equal(await later, true)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '../../testing/sim/clock.ts'
import type { Level } from './logger.ts'
import { createLogger } from './logger.ts'

function recorded(format: 'plain' | 'logstash', levels: Readonly<Record<string, Level>> = {}) {
  const lines: string[] = []
  const clock = new SimulatedClock(Date.UTC(2026, 10, 21, 1, 2, 3, 4))
  const logger = createLogger({
    clock,
    write: line => lines.push(line),
    format,
    levels: new Map(Object.entries(levels)),
  })
  return { lines, clock, logger }
}

const SCOPE = { correlationId: 7, clientId: 'c', apiKey: 'Produce', apiVersion: 13 }

test('a plain line has time, level, logger, message and fields', () => {
  const { lines, logger } = recorded('plain')
  logger
    .named('kafka.connection')
    .info('connection closed', { address: '10.0.0.7:5', reason: 'idle for 10m', bytes: 3, none: undefined, empty: '' })
  assert.deepEqual(lines, [
    '2026-11-21T01:02:03.004Z INFO  svc.kafka.connection  connection closed address=10.0.0.7:5 reason="idle for 10m" bytes=3 empty=""\n',
  ])
})

test('a Logstash line is a JSON object with the guaranteed keys and the fields of the request', () => {
  const { lines, logger } = recorded('logstash')
  logger.named('kafka').within(SCOPE).warn('slow', { tookMs: 12 })
  assert.deepEqual(JSON.parse(lines[0]!), {
    '@timestamp': '2026-11-21T01:02:03.004Z',
    '@version': '1',
    message: 'slow',
    logger_name: 'svc.kafka',
    thread_name: 'main',
    level: 'WARN',
    level_value: 30_000,
    correlationId: 7,
    clientId: 'c',
    apiKey: 'Produce',
    apiVersion: 13,
    tookMs: 12,
  })
  assert(lines[0]!.endsWith('}\n'))
})

test('a line written during a request carries its fields, whichever logger writes it, and no later line does', async () => {
  const { lines, logger } = recorded('logstash')
  const below = logger.named('log').within({ partition: 't-0' })
  let made = 0
  const scope = () => {
    made++
    return SCOPE
  }
  const write = async () => {
    below.debug('silent')
    below.warn('during')
    await Promise.resolve()
    below.warn('later')
  }
  const done = logger.during({ scope }, write)
  assert.throws(() => logger.during({ scope }, () => assert.fail('thrown')), /thrown/)
  below.warn('outside')
  await done
  const written = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    written.map(({ message, correlationId, clientId, apiKey, apiVersion, partition }) => {
      return [message, partition, correlationId, clientId, apiKey, apiVersion]
    }),
    [
      ['during', 't-0', 7, 'c', 'Produce', 13],
      ['outside', 't-0', undefined, undefined, undefined, undefined],
      ['later', 't-0', undefined, undefined, undefined, undefined],
    ],
  )
  assert.equal(made, 1)
})

test('lines after an await carry the fields of the request if the work enters the request again', async () => {
  const { lines, logger } = recorded('logstash')
  const work = async () => {
    const request = logger.current
    await Promise.resolve()
    assert.equal(logger.current, null)
    logger.during(request, () => logger.warn('later'))
  }
  await logger.during({ scope: () => SCOPE }, work)
  await work()
  const written = lines.map(line => JSON.parse(line) as Record<string, unknown>)
  assert.deepEqual(
    written.map(({ message, correlationId }) => [message, correlationId]),
    [
      ['later', 7],
      ['later', undefined],
    ],
  )
})

test('isEnabled returns whether a line of a level would be written', () => {
  const { logger } = recorded('plain')
  const below = logger.named('kafka')
  assert.deepEqual([below.isEnabled('DEBUG'), below.isEnabled('INFO')], [false, true])
  logger.setLevel('svc.kafka', 'DEBUG')
  assert.deepEqual([below.isEnabled('TRACE'), below.isEnabled('DEBUG')], [false, true])
})

test('a field cannot take the place of a guaranteed key', () => {
  const { lines, logger } = recorded('logstash')
  logger.info('real', { message: 'forged', level: 'x', '@timestamp': 0, ['__proto__']: 1 })
  const line = JSON.parse(lines[0]!) as Record<string, unknown>
  assert.equal(line.message, 'real')
  assert.equal(line.level, 'INFO')
  assert.equal(line.message_, 'forged')
})

test('nothing that a client sends makes a second line, moves the cursor or turns the text', () => {
  const hostile = 'a\nb\r\u001b[2J\u2028\u202e\u0085\u0000\ud800"=\\'
  for (const format of ['plain', 'logstash'] as const) {
    const { lines, logger } = recorded(format)
    logger.info(hostile, { [hostile]: hostile, nested: { hostile } })
    assert.equal(lines.length, 1)
    assert.match(lines[0]!, /^[\x20-\x7e]+\n$/)
    if (format === 'logstash') assert.equal((JSON.parse(lines[0]!) as { message: string }).message, hostile)
  }
})

test('a quoted value ends at its closing quote', () => {
  const { lines, logger } = recorded('plain')
  logger.info('m', { a: 'x y\\', b: 'say "no"', c: 'k=v' })
  assert(lines[0]!.endsWith('m a="x y\\\\" b="say \\"no\\"" c="k=v"\n'), lines[0])
})

test('a value of a megabyte is cut', () => {
  for (const format of ['plain', 'logstash'] as const) {
    const { lines, logger } = recorded(format)
    logger.info('x'.repeat(1_000_000), { value: 'y'.repeat(1_000_000) })
    assert(lines[0]!.length < 10_000)
  }
})

test('values that cannot be read do not throw', () => {
  const { lines, logger } = recorded('plain')
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  const hostile = {
    toJSON() {
      throw new Error('no')
    },
  }
  logger.info('m', { cyclic, hostile, big: 10n, symbol: Symbol('s'), nothing: null })
  assert(
    lines[0]!.endsWith(
      'm cyclic="(unreadable value)" hostile="(unreadable value)" big=10 symbol=Symbol(s) nothing=null\n',
    ),
    lines[0],
  )
})

test('an error is written with its causes, and at level ERROR with its stack', () => {
  const error = new Error('no room\n    at forged (frame)', { cause: new TypeError('disk') })
  const plain = recorded('plain')
  plain.logger.warn('append failed', { error })
  plain.logger.error('append failed', { error })
  assert(plain.lines[0]!.includes('error="Error: no room\\n    at forged (frame), caused by TypeError: disk"'))
  assert.equal(plain.lines[0]!.split('\n').length, 2)
  assert.match(plain.lines[1]!, /\n {4}at .*logger\.test\.ts/)
  assert.doesNotMatch(plain.lines[1]!, /\n {4}at forged/)
  const json = recorded('logstash')
  json.logger.error('append failed', { error })
  const line = JSON.parse(json.lines[0]!) as Record<string, string>
  assert.match(line.stack_trace!, /^ {4}at .*logger\.test\.ts/)
})

test('a level applies to a logger and those below it, and the nearest name wins', () => {
  const { lines, logger } = recorded('plain', { root: 'WARN', 'svc.kafka': 'DEBUG', 'svc.kafka.frame': 'OFF' })
  const said = (name: string) => {
    lines.length = 0
    const one = logger.named(name)
    one.trace('t')
    one.debug('d')
    one.info('i')
    one.warn('w')
    one.error('e')
    return lines.map(line => line.trim().at(-1)).join('')
  }
  assert.equal(said('log'), 'we')
  assert.equal(said('kafka'), 'diwe')
  assert.equal(said('kafka.connection'), 'diwe')
  assert.equal(said('kafkaesque'), 'we')
  assert.equal(said('kafka.frame'), '')
})

test('a level whose name came from the environment applies to a logger with a dash in its name', () => {
  const { lines, logger } = recorded('plain', { 'svc.kafka.init.producer.id': 'DEBUG' })
  logger.named('kafka.init-producer-id').debug('yes')
  logger.named('kafka.init').debug('no')
  assert.equal(lines.length, 1)
})

test('a changed level applies at once to existing loggers, and null removes it', () => {
  const { lines, logger } = recorded('plain')
  const kafka = logger.named('kafka')
  kafka.debug('no')
  logger.setLevel('svc.kafka', 'DEBUG')
  kafka.debug('yes')
  assert.deepEqual(logger.levels().get('svc.kafka'), { level: 'DEBUG', configured: 'DEBUG' })
  logger.setLevel('svc.kafka', null)
  kafka.debug('no')
  assert.equal(lines.length, 1)
})

test('levels returns the existing loggers and those above them, with the level in force', () => {
  const { logger } = recorded('plain', { 'svc.kafka': 'WARN', 'svc.kafka.init.producer.id': 'DEBUG' })
  logger.named('kafka.init-producer-id')
  logger.named('kafka.connection')
  const levels = [...logger.levels()].map(([name, { level, configured }]) => [name, level, configured]).sort()
  assert.deepEqual(levels, [
    ['root', 'INFO', null],
    ['svc', 'INFO', null],
    ['svc.kafka', 'WARN', 'WARN'],
    ['svc.kafka.connection', 'WARN', null],
    ['svc.kafka.init', 'WARN', null],
    ['svc.kafka.init-producer-id', 'DEBUG', 'DEBUG'],
    ['svc.kafka.init.producer', 'WARN', null],
  ])
})

test('a limited logger says how many lines it left out', async () => {
  const { lines, clock, logger } = recorded('plain')
  const other = logger.named('kafka').limited('refused', 1000)
  const limited = logger.limited('refused', 1000)
  for (let i = 0; i < 5; i++) limited.warn('refused')
  other.warn('refused')
  assert.equal(lines.length, 1)
  await clock.advance(1000)
  limited.warn('refused')
  assert.match(lines[1]!, /refused suppressed=5\n$/)
  await clock.advance(1000)
  limited.warn('refused')
  assert.match(lines[2]!, /refused\n$/)
})

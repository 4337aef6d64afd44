// Hostile schemas at the endpoint of a real broker: each is answered with its code, nothing is fetched, and the process
// stays up with its memory. The delay of the event loop is reported, not asserted: another process may hold the
// processors.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { COLLECTS_FLAG, keptMegabytes } from '../../bench/kept-memory.ts'
import { LOOP_DELAY_FLAG, loopDelay } from '../../bench/loop-delay.ts'
import { sleepAwake } from '../../bench/startup.ts'
import { type BrokerProcess, startBrokerProcess } from '../../testing/process.ts'
import { newFolder } from '../../testing/store-folder.ts'
import { hostileSchemas, widePair } from './hostile-schemas.ts'

const MEDIA = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
const MOST_GROWTH_MB = 50
/** Idle threads end after ten seconds. */
const THREADS_END_MS = 12_000

async function open(t: TestContext) {
  const settings = { 'svc.schema-registry.authentication': 'none', 'svc.ui.enabled': 'false' }
  const broker = await startBrokerProcess(t, {
    folder: newFolder(t),
    settings,
    nodeFlags: [LOOP_DELAY_FLAG, COLLECTS_FLAG],
  })
  const ask = async (path: string, method = 'GET', body?: unknown) => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(`${broker.url}/schema-registry${path}`, {
      method,
      ...(body === undefined ? {} : { body: sent, headers: MEDIA }),
    })
    const text = await response.text()
    return { status: response.status, body: JSON.parse(text) }
  }
  const codeOf = (answer: Awaited<ReturnType<typeof ask>>) => answer.body.error_code ?? answer.status
  const register = async (subject: string, body: unknown) => await ask(`/subjects/${subject}/versions`, 'POST', body)
  // The broker has loaded then everything that it loads once.
  for (const [at, [schemaType, schema]] of Object.entries({
    AVRO: '"int"',
    JSON: '{}',
    PROTOBUF: 'message A {}',
  }).entries())
    assert.equal((await register(`warm-${at}`, { schema, schemaType })).status, 200)
  await workAsUsual(register)
  await sleepAwake(THREADS_END_MS)
  const usual = await loopDelay(broker)
  t.diagnostic(`loop delay of usual work: p99.9 ${usual.p999.toFixed(1)} ms, longest ${usual.max.toFixed(1)} ms`)
  return { broker, ask, codeOf, register, before: await keptMegabytes(broker) }
}

type Register = (subject: string, body: unknown) => Promise<{ readonly status: number }>

/**
 * Registers many small schemas, and some of the largest that are usual. The allocator keeps up to 64 MB of freed memory
 * (scripts/node24.mjs), so a broker that has worked is compared with itself.
 */
async function workAsUsual(register: Register) {
  for (let at = 0; at < 300; at++) {
    const large = at % 10 === 0 ? { description: 'x'.repeat(400_000) } : {}
    const schema = JSON.stringify({ title: `${at}`, ...large })
    assert.equal((await register('usual', { schema, schemaType: 'JSON' })).status, 200)
  }
}

async function report(t: TestContext, broker: BrokerProcess, register: Register, before: number) {
  const { p999, max } = await loopDelay(broker)
  await workAsUsual(register)
  await sleepAwake(THREADS_END_MS)
  const growth = (await keptMegabytes(broker)) - before
  t.diagnostic(`loop delay p99.9 ${p999.toFixed(1)} ms, longest ${max.toFixed(1)} ms; memory +${growth.toFixed(1)} MB`)
  assert.ok(growth < MOST_GROWTH_MB, `memory grew by ${growth.toFixed(1)} MB`)
}

test('each hostile schema is answered with its code, twice, and the broker keeps its memory', {
  timeout: 600_000,
}, async t => {
  const { broker, ask, codeOf, register, before } = await open(t)
  const wrong: string[] = []
  for (const { name, type: schemaType, schema, gets } of hostileSchemas) {
    for (const path of [`/subjects/hostile-${schemaType}/versions`, '/compatibility/subjects/none/versions'] as const) {
      const subject = `s-${schemaType}-${name.replaceAll(/\W/g, '-').slice(0, 60)}`
      const answer = path.startsWith('/sub')
        ? await register(subject, { schema, schemaType })
        : await ask(`/subjects/${subject}`, 'POST', { schema, schemaType })
      // A subject without the schema has no version either.
      const expected =
        path.startsWith('/sub') || gets === 200 || gets === 413 || gets === 42209 ? [gets] : [gets, 40401]
      if (!expected.includes(codeOf(answer)))
        wrong.push(`${schemaType}, ${name}: ${codeOf(answer)} ${String(answer.body.message).slice(0, 200)}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.equal((await ask('/subjects')).status, 200)
  await report(t, broker, register, before)
})

test('a comparison of 1,000 against 1,000, deep bodies and graphs of references are answered, and the broker keeps its memory', {
  timeout: 600_000,
}, async t => {
  const { broker, ask, codeOf, register, before } = await open(t)
  const json = (schema: string, references: readonly unknown[] = []) => ({ schema, schemaType: 'JSON', references })
  assert.equal(codeOf(await register('wide', json(widePair[0]))), 200)
  assert.ok([409, 42201].includes(codeOf(await register('wide', json(widePair[1])))))

  for (const body of [
    '['.repeat(200_000),
    `{"schema":${'{"a":'.repeat(150_000)}`,
    `{"schema":"x","references":[${'{},'.repeat(100_000)}{}]}`,
  ])
    assert.equal((await register('deep', body)).status, 400)

  // A chain that is longer than a schema may have, and a graph in which each has the two before.
  const referring = (name: string, to: readonly string[]) =>
    json(
      JSON.stringify({ $id: name, allOf: to.map($ref => ({ $ref })) }),
      to.map(each => ({ name: each, subject: each, version: 1 })),
    )
  assert.equal(codeOf(await register('g0', json('{"$id":"g0"}'))), 200)
  const codes: number[] = []
  for (let at = 1; at <= 110; at++) {
    const to = [`g${at - 1}`, ...(at > 1 ? [`g${at - 2}`] : [])]
    const code = codeOf(await register(`g${at}`, referring(`g${at}`, to)))
    codes.push(code)
    if (code !== 200) break
  }
  assert.ok([42201, 42209].includes(codes.at(-1)!), `the chain ends with ${codes.at(-1)} after ${codes.length}`)

  // 100 schemas of 500 kB are more than one schema may have with its references.
  for (let at = 0; at < 20; at++)
    assert.equal(
      codeOf(await register(`fat-${at}`, json(JSON.stringify({ title: `${at}${'x'.repeat(500_000)}` })))),
      200,
    )
  const fat = Array.from({ length: 100 }, (_, at) => ({ name: `n${at}`, subject: `fat-${at % 20}`, version: 1 }))
  assert.equal(codeOf(await register('fat', json('{}', fat))), 42209)
  assert.equal(codeOf(await register('fat', json('{}', [...fat, ...fat]))), 42209)

  // Ids that no broker has given.
  for (let at = 0; at < 100; at++)
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) =>
        assert.equal((await ask(`/schemas/ids/${1e6 + at * 20 + i}`)).status, 404),
      ),
    )
  assert.equal((await ask('/subjects')).status, 200)
  await report(t, broker, register, before)
})

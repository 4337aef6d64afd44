import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batchOf, produceTo, startGround } from '../../../testing/kafka.ts'
import type { Wire } from '../../../testing/wire.ts'
import {
  INVALID_CONFIG,
  INVALID_REQUEST,
  MESSAGE_TOO_LARGE,
  NONE,
  UNKNOWN_TOPIC_OR_PARTITION,
  UNSUPPORTED_VERSION,
} from '../../protocol/errors.ts'
import { alterConfigs } from '../../protocol/messages/alter-configs.ts'
import { describeConfigs } from '../../protocol/messages/describe-configs.ts'
import { incrementalAlterConfigs } from '../../protocol/messages/incremental-alter-configs.ts'
import { listConfigResources } from '../../protocol/messages/list-config-resources.ts'

const TOPIC = 2
const BROKER = 4
const LOGGER = 8

async function describe(wire: Wire, resourceType: number, resourceName: string, names: string[] | null, version = 4) {
  const resources = [{ resourceType, resourceName, configurationKeys: names }]
  const body = { resources, includeSynonyms: version > 1, includeDocumentation: version > 2 }
  return (await wire.send(describeConfigs, version, body)).results[0]!
}

test('the requested configs are described in every version, with the requested details', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (let version = 1; version <= 4; version++) {
    const row = await describe(wire, TOPIC, 't', ['retention.bytes', 'no.such'], version)
    assert.deepEqual([row.errorCode, row.errorMessage, row.resourceType, row.resourceName], [NONE, null, TOPIC, 't'])
    assert.equal(row.configs.length, 1)
    const { documentation, ...config } = row.configs[0]!
    assert.deepEqual(config, {
      name: 'retention.bytes',
      value: '-1',
      readOnly: false,
      configSource: 5,
      isSensitive: false,
      synonyms: version > 1 ? [{ name: 'log.retention.bytes', value: '-1', source: 5 }] : [],
      configType: version > 2 ? 5 : 0,
    })
    assert.equal(documentation !== '', version > 2)
    assert.deepEqual((await describe(wire, TOPIC, 't', [], version)).configs.length, 40)
  }
  assert.equal((await describe(wire, TOPIC, 'nope', null)).errorCode, UNKNOWN_TOPIC_OR_PARTITION.code)
  assert.equal((await describe(wire, 99, 't', null)).errorCode, INVALID_REQUEST.code)
  const broker = await describe(wire, BROKER, '0', null)
  assert(broker.configs.length > 100 && broker.configs.every(config => config.readOnly))
  const [logger] = (await describe(wire, LOGGER, '0', ['svc.kafka.dispatch'])).configs
  assert.deepEqual([logger?.value, logger?.configSource, logger?.readOnly], ['INFO', 6, false])
  const twice = { resourceType: TOPIC, resourceName: 't', configurationKeys: null }
  const { results } = await wire.send(describeConfigs, 4, { resources: [twice, twice] })
  assert.deepEqual(
    results.map(each => each.errorCode),
    [INVALID_REQUEST.code, INVALID_REQUEST.code],
  )
})

test('altered overrides take effect on the next request, in every version', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const topic = { resourceType: TOPIC, resourceName: 't' }
  const name = 'max.message.bytes'
  const isTooLarge = async () => (await produceTo(wire, batchOf(['v']))).errorCode === MESSAGE_TOO_LARGE.code
  for (let version = 0; version <= 2; version++) {
    const whole = (configs: { name: string; value: string | null }[], validateOnly = false) =>
      wire.send(alterConfigs, version, { resources: [{ ...topic, configs }], validateOnly })
    assert.deepEqual((await whole([{ name, value: '10' }])).responses, [
      { ...topic, errorCode: NONE, errorMessage: null },
    ])
    assert.equal(await isTooLarge(), true)
    await whole([], true)
    assert.equal(await isTooLarge(), true)
    await whole([])
    assert.equal(await isTooLarge(), false)
    const { responses } = await whole([{ name: 'no.such', value: '1' }])
    assert.deepEqual(responses, [
      { ...topic, errorCode: INVALID_CONFIG.code, errorMessage: 'Unknown topic config name: no.such' },
    ])
    assert.equal((await whole([{ name, value: null }])).responses[0]?.errorCode, INVALID_REQUEST.code)
  }
  for (let version = 0; version <= 1; version++) {
    const change = async (configOperation: number, value: string | null) => {
      const resources = [{ ...topic, configs: [{ name, configOperation, value }] }]
      const { responses } = await wire.send(incrementalAlterConfigs, version, { resources, validateOnly: false })
      return responses[0]!.errorCode
    }
    assert.equal(await change(0, '10'), NONE)
    assert.equal(await isTooLarge(), true)
    assert.equal(await change(1, null), NONE)
    assert.equal(await isTooLarge(), false)
    assert.equal(await change(2, '10'), INVALID_CONFIG.code)
    assert.equal(await change(4, '10'), INVALID_REQUEST.code)
    assert.equal(await change(-1, '10'), INVALID_REQUEST.code)
  }
})

test('each resource of a request is answered in its own row, even if others are wrong', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const set = (configOperation: number, name: string, value: string) => [{ name, configOperation, value }]
  const resources = [
    { resourceType: 99, resourceName: 'x', configs: [] },
    { resourceType: LOGGER, resourceName: '0', configs: set(0, 'svc.kafka.dispatch', 'DEBUG') },
    { resourceType: TOPIC, resourceName: 't', configs: set(9, 'retention.ms', '5') },
    { resourceType: TOPIC, resourceName: 'nope', configs: set(0, 'retention.ms', '5') },
    { resourceType: BROKER, resourceName: '', configs: set(0, 'svc.broker.port', '5') },
  ]
  const { responses } = await wire.send(incrementalAlterConfigs, 1, { resources, validateOnly: false })
  assert.deepEqual(
    responses.map(each => [each.resourceName, each.errorCode]),
    [
      ['x', INVALID_REQUEST.code],
      ['0', NONE],
      ['t', INVALID_REQUEST.code],
      ['nope', UNKNOWN_TOPIC_OR_PARTITION.code],
      ['', INVALID_REQUEST.code],
    ],
  )
  assert.equal((await describe(wire, LOGGER, '0', ['svc.kafka.dispatch'])).configs[0]?.value, 'DEBUG')
})

test('resources with configs are listed by type', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const list = (version: number, resourceTypes: number[]) => wire.send(listConfigResources, version, { resourceTypes })
  assert.deepEqual((await list(0, [])).configResources, [])
  assert.deepEqual((await list(1, [TOPIC])).configResources, [{ resourceName: 't', resourceType: TOPIC }])
  const all = (await list(1, [])).configResources.map(each => each.resourceType)
  assert.deepEqual(all, [LOGGER, BROKER, TOPIC])
  assert.equal((await list(1, [TOPIC, 3])).errorCode, UNSUPPORTED_VERSION.code)
})

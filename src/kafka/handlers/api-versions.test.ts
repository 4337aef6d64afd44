import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGround } from '../../../testing/kafka.ts'
import { INVALID_REQUEST, NONE } from '../../protocol/errors.ts'
import { messages } from '../../protocol/messages/all.ts'
import { apiVersions } from '../../protocol/messages/api-versions.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { features } from '../features.ts'

const SOFTWARE = { clientSoftwareName: 'test', clientSoftwareVersion: '1.0' }

test('the answer lists every API once with its range, in every version', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (let version = 0; version <= 4; version++) {
    const { errorCode, apiKeys } = await wire.send(apiVersions, version, version < 3 ? {} : SOFTWARE)
    assert.equal(errorCode, NONE)
    assert.equal(apiKeys.length, messages.length)
    for (const { key, advertised } of messages) {
      const row = apiKeys.find(each => each.apiKey === key)
      assert.deepEqual(row, { apiKey: key, minVersion: advertised.min, maxVersion: advertised.max })
    }
  }
})

test('ranges that old clients look for are there: Produce 0 and 3, Fetch 4, JoinGroup 0, OffsetFetch 1', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const { apiKeys } = await wire.send(apiVersions, 0, {})
  const wanted = [
    [0, 0],
    [0, 3],
    [1, 4],
    [2, 1],
    [9, 1],
    [10, 0],
    [11, 0],
    [12, 0],
    [13, 0],
    [14, 0],
  ] as const
  for (const [key, version] of wanted) {
    const row = apiKeys.find(each => each.apiKey === key)
    assert.ok(row !== undefined && row.minVersion <= version && row.maxVersion >= version, `${key} ${version}`)
  }
})

test('the response header has no tags even where the body is flexible', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const body = Buffer.from('0012000300000007000178000278023100', 'hex')
  await wire.raw(Buffer.concat([Buffer.of(0, 0, 0, body.length), body]))
  const answer = await wire.answer()
  assert.equal(answer.readInt32BE(0), 7)
  assert.equal(answer.readInt16BE(4), NONE)
  assert.equal(answer[6], messages.length + 1)
})

test('from version 3 on the software of the client must have a name and a version', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const bad = ['', ' ', '-', 'a b', '.x', 'x-', 'x\n', 'é']
  for (const name of bad) {
    for (const version of [3, 4]) {
      const byName = await wire.send(apiVersions, version, { ...SOFTWARE, clientSoftwareName: name })
      const byVersion = await wire.send(apiVersions, version, { ...SOFTWARE, clientSoftwareVersion: name })
      assert.deepEqual([byName.errorCode, byVersion.errorCode], [INVALID_REQUEST.code, INVALID_REQUEST.code], name)
    }
  }
  for (const name of ['a', 'apache-kafka-java', 'librdkafka', '2.0.2', 'a.b-c.D']) {
    const { errorCode } = await wire.send(apiVersions, 3, { clientSoftwareName: name, clientSoftwareVersion: name })
    assert.equal(errorCode, NONE, name)
  }
})

test('no feature is reported whose APIs are not served, and none with lowest version 0 in version 3', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  for (const version of [3, 4]) {
    const { supportedFeatures, finalizedFeatures } = await wire.send(apiVersions, version, SOFTWARE)
    for (const { name } of [...supportedFeatures, ...finalizedFeatures]) {
      const { needs } = features.find(each => each.name === name)!
      for (const key of needs) assert.ok(messages.some(api => api.key === key))
    }
    if (version === 3) for (const { minVersion } of supportedFeatures) assert.notEqual(minVersion, 0)
  }
})

test('a client may send ApiVersions and Metadata back to back before it reads', async t => {
  const ground = await startGround(t)
  const wire = await ground.connect()
  const [versions, answer] = await Promise.all([wire.send(apiVersions, 0, {}), wire.send(metadata, 0, { topics: [] })])
  assert.ok(versions.apiKeys.length > 0)
  assert.equal(answer.topics.length, 1)
})

// golden/frames.jsonl has the bytes that Kafka's own generated classes (kafka-clients 4.2.0) write for the value beside
// them, for every message at its lowest, a middle and its highest version. Bytes and records in a value are base64.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fc } from '../../testing/property.ts'
import { anyFields } from '../../testing/values.ts'
import { AssertionFailed } from '../base/assert.ts'
import { seededRandom } from '../base/random.ts'
import { decodeMessage, decodeRequest, decodeResponse, encodeMessage, encodeRequest, encodeResponse } from './codec.ts'
import { interpretBytes, interpretValue } from './interpret.ts'
import { Malformed } from './malformed.ts'
import { messages } from './messages/all.ts'
import { apiVersions } from './messages/api-versions.ts'
import { consumerProtocolAssignment, consumerProtocolSubscription } from './messages/consumer-protocol.ts'
import { fetch } from './messages/fetch.ts'
import { heartbeat } from './messages/heartbeat.ts'
import { metadata } from './messages/metadata.ts'
import { offsetFetch } from './messages/offset-fetch.ts'
import { produce } from './messages/produce.ts'
import { absent, isFlexible, layout, type Message, type Slot } from './schema.ts'

const all: readonly Message[] = [
  ...messages.flatMap(api => [api.request, api.response]),
  consumerProtocolSubscription,
  consumerProtocolAssignment,
]

const encode = (message: Message, version: number, value: object) =>
  Buffer.concat(encodeMessage(message, version, value as never))

function versionsOf(message: Message): number[] {
  return Array.from({ length: message.versions.max - message.versions.min + 1 }, (_, i) => message.versions.min + i)
}

/** Returns the value with its base64 texts as bytes and with the fallback of every field that it omits. */
function completed(slots: readonly Slot[], value: Record<string, unknown>): Record<string, unknown> {
  const complete = (slot: Slot, value: unknown): unknown => {
    if (value === null) return null
    if (slot.kind === 'bytes' || slot.kind === 'records') return Buffer.from(value as string, 'base64')
    if (slot.kind === 'array') return (value as unknown[]).map(element => complete(slot.element!, element))
    return slot.kind === 'struct' ? completed(slot.slots!, value as Record<string, unknown>) : value
  }
  return Object.fromEntries(
    slots.map(slot => [slot.name, slot.name in value ? complete(slot, value[slot.name]) : absent(slot)]),
  )
}

interface Golden {
  message: string
  version: number
  hex: string
  value: Record<string, unknown>
}

const golden = readFileSync(new URL('golden/frames.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map(line => JSON.parse(line) as Golden)

test('every message is encoded to the bytes of the Java client, and those bytes are decoded to the same value', () => {
  assert.deepEqual(new Set(golden.map(row => row.message)), new Set(all.map(message => message.name)))
  for (const { message: name, version, hex, value } of golden) {
    const message = all.find(message => message.name === name)!
    const input = completed(layout(message, version), value)
    assert.equal(encode(message, version, input).toString('hex'), hex, `${name} ${version}`)
    assert.equal(interpretValue(message, version, input).toString('hex'), hex, `${name} ${version}, interpreted`)
    assert.deepEqual(decodeMessage(message, version, Buffer.from(hex, 'hex')), input, `${name} ${version}`)
  }
})

test('decoding what was encoded gives the value back, in every version, and the interpreter agrees on bytes and value', () => {
  for (const message of all) {
    for (const version of versionsOf(message)) {
      fc.assert(
        fc.property(anyFields(layout(message, version)), value => {
          const bytes = encode(message, version, value)
          assert.deepEqual(interpretValue(message, version, value), bytes)
          assert.deepEqual(decodeMessage(message, version, bytes), value)
          assert.deepEqual(interpretBytes(message, version, bytes), value)
        }),
        { numRuns: 4 },
      )
    }
  }
})

/** Returns the value that a decoder makes of bytes, or `malformed`. Any error but Malformed fails the test. */
function outcome(decode: () => unknown): unknown {
  try {
    return decode()
  } catch (error) {
    assert.ok(error instanceof Malformed, `threw ${String(error)}`)
    return 'malformed'
  }
}

test('cut and damaged frames are malformed or another value, never anything else, and the interpreter agrees', () => {
  const random = seededRandom(4)
  for (const { message: name, version, hex } of golden) {
    const message = all.find(message => message.name === name)!
    const frame = Buffer.from(hex, 'hex')
    for (let i = 0; i < 40; i++) {
      const bytes = Buffer.from(frame)
      for (let k = random.below(3); k >= 0; k--)
        if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256)
      const cut = i % 4 === 0 ? bytes.subarray(0, random.below(bytes.length + 1)) : bytes
      const generated = outcome(() => decodeMessage(message, version, cut))
      assert.deepEqual(
        generated,
        outcome(() => interpretBytes(message, version, cut)),
        `${name} ${version} ${cut.toString('hex')}`,
      )
    }
  }
})

test('every cut of a frame is malformed', () => {
  for (const { message: name, version, hex } of golden) {
    const message = all.find(message => message.name === name)!
    const frame = Buffer.from(hex, 'hex')
    const step = Math.max(1, Math.floor(frame.length / 40))
    for (let length = 0; length < frame.length; length += step)
      assert.throws(() => decodeMessage(message, version, frame.subarray(0, length)), Malformed, `${name} ${version}`)
  }
})

test('bytes after a complete body are malformed', () => {
  const body = Buffer.concat([
    ...encodeRequest(heartbeat, 4, { groupId: 'g', generationId: 1, memberId: 'm' }),
    Buffer.of(0),
  ])
  assert.throws(() => decodeRequest(heartbeat, 4, body, 0), /1 bytes are left over/)
})

test('bytes after a Metadata request are left unread', () => {
  // librdkafka 2.15.1 requests all topics with a null array in one byte, followed by the three other bytes that it
  // had reserved for the count.
  const allTopics = decodeRequest(metadata, 12, Buffer.from('00000000010000', 'hex'), 0)
  assert.equal(allTopics.topics, null)
})

test('a count that does not fit is refused before memory is allocated for it', () => {
  const refused = (version: number, hex: string, reason: RegExp) =>
    assert.throws(() => decodeRequest(metadata, version, Buffer.from(hex, 'hex'), 0), reason)
  refused(1, '7fffffff', /topics: 2147483647 elements do not fit/)
  refused(1, 'fffffffe', /topics: the length -2 is not allowed/)
  refused(0, 'ffffffff', /topics: the length -1 is not allowed/)
  refused(9, 'ffffffff0f', /topics: 4294967294 elements do not fit/)
  refused(9, 'ffffffffff01', /topics: the varint does not fit 32 bits/)
  refused(9, 'ffffffff1f', /topics: the varint does not fit 32 bits/)
  refused(1, '000000017fff', /name: the bytes end too early/)
  refused(1, '00000001fffe', /name: the length -2 is not allowed/)
  refused(1, '00000001ffff', /name: the length -1 is not allowed/)
})

test('an array of more than a million elements is malformed although its bytes are there', () => {
  const names = Buffer.alloc(4 + 2 * 1_000_001)
  names.writeInt32BE(1_000_001)
  assert.throws(() => decodeRequest(metadata, 1, names, 0), /1000001 elements do not fit/)
  names.writeInt32BE(1_000_000)
  assert.equal(decodeRequest(metadata, 1, names.subarray(0, 4 + 2_000_000), 0).topics?.length, 1_000_000)
})

test('the arrays of one message share a budget of a million elements', () => {
  // OffsetFetch 2: three topics of 400,000 partitions each.
  const topic = Buffer.alloc(2 + 4 + 4 * 400_000)
  topic.writeInt32BE(400_000, 2)
  const request = (topics: number) => {
    const head = Buffer.alloc(2 + 4)
    head.writeInt32BE(topics, 2)
    return Buffer.concat([head, ...Array.from({ length: topics }, () => topic)])
  }
  assert.equal(decodeRequest(offsetFetch, 2, request(2), 0).topics?.length, 2)
  assert.throws(() => decodeRequest(offsetFetch, 2, request(3), 0), /more than 1000000 elements/)
})

test('tagged fields are bounded, in rising order, and as long as their size says', () => {
  const body = (tags: string) =>
    Buffer.concat([Buffer.from('0261026101', 'hex').subarray(0, 4), Buffer.from(tags, 'hex')])
  const refused = (tags: string, reason: RegExp) =>
    assert.throws(() => decodeRequest(apiVersions, 3, body(tags), 0), reason)
  assert.equal(decodeRequest(apiVersions, 3, body('02' + '0701ff' + '0900'), 0).clientSoftwareName, 'a')
  refused('80dac409', /20000000 tagged fields do not fit/)
  refused('02' + '0701ff' + '0700', /not in rising order/)
  refused('02' + '0901ff' + '0700', /not in rising order/)
  refused('01' + '0705ff', /end too early/)
  const many = Buffer.concat([Buffer.from('914e', 'hex'), Buffer.alloc(2 * 10_001)])
  refused(many.toString('hex'), /10001 tagged fields do not fit/)

  const known = (tags: string) => Buffer.from(`000001${'00000000'}${tags}`, 'hex')
  assert.equal(decodeResponse(apiVersions, 3, known('01' + '0301' + '01'), 0).zkMigrationReady, true)
  assert.throws(() => decodeResponse(apiVersions, 3, known('01' + '0302' + '0101'), 0), /longer than it says/)
  assert.throws(() => decodeResponse(apiVersions, 3, known('01' + '0107' + '00000000000000'), 0), /end too early/)
})

test('text must be UTF-8: cut, overlong and surrogate sequences are malformed, short or long', () => {
  const topic = (text: Buffer) => {
    const length = Buffer.alloc(6)
    length.writeInt32BE(1)
    length.writeInt16BE(text.length, 4)
    return Buffer.concat([length, text])
  }
  for (const hex of ['ff', 'c3', 'c080', 'eda080', 'f4908080'])
    for (const before of ['', 'x'.repeat(100)])
      assert.throws(
        () => decodeRequest(metadata, 1, topic(Buffer.concat([Buffer.from(before), Buffer.from(hex, 'hex')])), 0),
        /not UTF-8/,
      )
  assert.equal(decodeRequest(metadata, 1, topic(Buffer.from('a\0ü')), 0).topics?.[0]?.name, 'a\0ü')
})

test('records are views of the frame, bytes are copies', () => {
  const records = Buffer.from('some records')
  const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
  const frame = Buffer.concat(encodeRequest(produce, 9, { acks: 1, timeoutMs: 1, topicData }))
  const decoded = decodeRequest(produce, 9, frame, 0).topicData[0]!.partitionData[0]!.records!
  assert.deepEqual(decoded, records)
  assert.ok(decoded.buffer === frame.buffer)
  const subscription = encode(consumerProtocolSubscription, 0, { topics: [], userData: records })
  const { userData } = decodeMessage(consumerProtocolSubscription, 0, subscription)
  subscription.fill(0)
  assert.deepEqual(userData, records)
})

test('an encoder hands record slices on as parts of their own', () => {
  const slices = [Buffer.from('one'), Buffer.from('three')]
  const partition = { partitionIndex: 0, errorCode: 0, highWatermark: 1, abortedTransactions: null }
  const responses = [
    {
      topic: 't',
      partitions: [
        { ...partition, records: slices },
        { ...partition, records: null },
      ],
    },
  ]
  for (const version of [4, 12]) {
    const parts = encodeResponse(fetch, version, { throttleTimeMs: 0, responses })
    assert.equal(parts.length, 4)
    assert.equal(parts[1], slices[0])
    assert.equal(parts[2], slices[1])
    const decoded = decodeResponse(fetch, version, Buffer.concat(parts), 0).responses[0]!.partitions
    assert.equal(String(decoded[0]!.records), 'onethree')
    assert.equal(decoded[1]!.records, null)
    const [head, ...others] = encodeResponse(fetch, version, { throttleTimeMs: 0, responses }, 9)
    assert.deepEqual([head!.subarray(9), ...others], parts)
  }
})

test('a message larger than the scratch space, with a large tagged field, is encoded whole', () => {
  const supportedFeatures = Array.from({ length: 3000 }, (_, i) => ({
    name: `feature-${i}-${'x'.repeat(40)}`,
    minVersion: 0,
    maxVersion: i,
  }))
  const value = { errorCode: 0, apiKeys: [], supportedFeatures }
  const bytes = encode(apiVersions.response, 4, value)
  assert.ok(bytes.length > 128 * 1024)
  assert.deepEqual(bytes, interpretValue(apiVersions.response, 4, value))
  assert.deepEqual(decodeResponse(apiVersions, 4, bytes, 0).supportedFeatures, supportedFeatures)
})

test('fields that a version does not have come at their fallback, and are not written', () => {
  const request = decodeRequest(
    metadata,
    0,
    Buffer.concat(encodeRequest(metadata, 0, { topics: [], includeTopicAuthorizedOperations: true })),
    0,
  )
  assert.deepEqual(request, {
    topics: [],
    allowAutoTopicCreation: true,
    includeClusterAuthorizedOperations: false,
    includeTopicAuthorizedOperations: false,
  })
})

test('an int64 beyond 2^53 is decoded to the nearest number and never encoded', () => {
  const body = (offset: bigint) => {
    const frame = Buffer.concat(
      encodeRequest(fetch, 4, {
        maxWaitMs: 0,
        minBytes: 0,
        topics: [{ topic: 't', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1 }] }],
      }),
    )
    frame.writeBigInt64BE(offset, frame.length - 12)
    return decodeRequest(fetch, 4, frame, 0).topics[0]!.partitions[0]!.fetchOffset
  }
  for (const offset of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n, -1n, 2n ** 32n - 1n, -(2n ** 32n)])
    assert.equal(body(offset), Number(offset))
  assert.throws(
    () => encode(consumerProtocolSubscription, 3, { topics: [], generationId: 2 ** 31 }),
    /generationId must be an int32, got 2147483648/,
  )
  const initial = { index: 0, errorCode: 0, baseOffset: 2 ** 53 }
  assert.throws(
    () => encodeResponse(produce, 9, { responses: [{ name: 't', partitionResponses: [initial] }] }),
    AssertionFailed,
  )
})

test('an encoder names the field that does not fit the declaration', () => {
  const wrong = (value: object, reason: RegExp) => assert.throws(() => encode(heartbeat.request, 4, value), reason)
  wrong({ generationId: 1, memberId: 'm' }, /groupId must be a text, got undefined/)
  wrong({ groupId: 'g', generationId: 1.5, memberId: 'm' }, /generationId must be an int32, got 1.5/)
  wrong({ groupId: 'g', generationId: 1, memberId: null }, /memberId must be given, got null/)
  assert.throws(() => encode(metadata.request, 1, { topics: 'all' }), /topics must be an array, got "all"/)
  assert.throws(
    () => encode(metadata.request, 10, { topics: [{ topicId: 'short', name: null }] }),
    /topicId must be a uuid/,
  )
  assert.throws(() => encode(metadata.request, 1, { topics: [{ name: 'x'.repeat(40_000) }] }), /at most 32767 bytes/)
})

test('a version that a message does not have fails an assertion', () => {
  assert.throws(() => decodeRequest(produce, 2, Buffer.alloc(0), 0), /ProduceRequest has no version 2/)
  assert.equal(produce.advertised.min, 0)
  assert.equal(isFlexible(produce, 8), false)
  assert.equal(isFlexible(produce, 9), true)
})

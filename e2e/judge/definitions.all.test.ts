import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messages } from '../../src/protocol/messages/all.ts'
import {
  consumerProtocolAssignment,
  consumerProtocolSubscription,
} from '../../src/protocol/messages/consumer-protocol.ts'
import { array, int16, int32, message, nullable, string, tagged, uuid } from '../../src/protocol/schema.ts'
import { compareApi, compareMessage } from './definitions.ts'
import { definitions, judgeAbsence } from './judge.ts'

const skip = judgeAbsence() ?? false

test("every declared message equals Kafka's definition, in every version and field", { skip }, async t => {
  const all = new Map((await definitions()).map(definition => [definition.name, definition]))
  t.diagnostic(`${messages.length} APIs held against ${all.size} definitions`)
  const differences = [
    ...messages.flatMap(api => compareApi(api, all)),
    ...[consumerProtocolSubscription, consumerProtocolAssignment].flatMap(each => compareMessage(each, all)),
  ]
  assert.deepEqual(differences, [])
})

test('each way in which a declaration can be wrong is named', { skip }, async () => {
  const all = new Map((await definitions()).map(definition => [definition.name, definition]))
  // CreateTopicsResponse is 2-7 in Kafka, flexible from 5 on.
  const wrong = message({
    name: 'CreateTopicsResponse',
    versions: '2-8',
    flexible: '6+',
    fields: {
      throttleTimeMs: int16(),
      topics: array({
        topicId: uuid('7+'),
        name: nullable(string()),
        errorCode: int16(),
        invented: int32('7+'),
        errorMessage: nullable(string()),
        topicConfigErrorCode: tagged(1, int16('5+')),
        replicationFactor: int16('5+', -1),
        numPartitions: int32('5+', 0),
      }),
    },
  })
  assert.deepEqual(compareMessage(wrong, all), [
    'CreateTopicsResponse 2-7: throttleTimeMs: int16 here, int32 in Kafka',
    'CreateTopicsResponse 2-7: topics.name: nullable string here, string in Kafka',
    'CreateTopicsResponse 2-7: topics.numPartitions: the default is 0 here, -1 in Kafka',
    'CreateTopicsResponse 5: flexible: false here, true in Kafka',
    'CreateTopicsResponse 5-7: topics.topicConfigErrorCode: int16 with tag 1 here, int16 with tag 0 in Kafka',
    'CreateTopicsResponse 5-7: topics.configs: absent here, nullable array of struct in Kafka',
    'CreateTopicsResponse 5-7: topics.configs.name: absent here, string in Kafka',
    'CreateTopicsResponse 5-7: topics.configs.value: absent here, nullable string in Kafka',
    'CreateTopicsResponse 5-7: topics.configs.readOnly: absent here, bool in Kafka',
    'CreateTopicsResponse 5-7: topics.configs.configSource: absent here, int8 in Kafka',
    'CreateTopicsResponse 5-7: topics.configs.isSensitive: absent here, bool in Kafka',
    'CreateTopicsResponse 7: topics.invented: int32 here, absent in Kafka',
    'CreateTopicsResponse 8: the version is here and not in Kafka',
  ])
  const swapped = message({
    name: 'ConsumerProtocolAssignment',
    versions: '0-0',
    fields: {
      userData: consumerProtocolAssignment.fields.userData,
      assignedPartitions: consumerProtocolAssignment.fields.assignedPartitions,
    },
  })
  assert.match(
    compareMessage(swapped, all)[0]!,
    /^ConsumerProtocolAssignment 0: the order of fields is userData assigned/,
  )
  assert.deepEqual(compareMessage(message({ name: 'Nothing', versions: '0-1', fields: {} }), all), [
    'Nothing: Kafka has no such message',
  ])
})

// Produce with a judge: every version, requests with several partitions, acks=0. log/judging.test.ts tests the lane.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pattern } from '../../../testing/broker.ts'
import { eventually } from '../../../testing/eventually.ts'
import { TestJudge } from '../../../testing/judge.ts'
import { batchOf, fetchOne, produceTo, startGround, valuesOf } from '../../../testing/kafka.ts'
import { systemClock } from '../../base/clock.ts'
import { INVALID_RECORD, NONE, REQUEST_TIMED_OUT } from '../../protocol/errors.ts'
import { metadata } from '../../protocol/messages/metadata.ts'
import { produce } from '../../protocol/messages/produce.ts'

async function startJudged(t: Parameters<typeof startGround>[0], partitions = 1) {
  const judge = new TestJudge()
  const ground = await startGround(t, { topics: [pattern('*', { partitions })] }, systemClock, { judge })
  return { judge, ground, wire: await ground.connect() }
}

test('each version gets the code of a refused batch; from 8 on with the records and a message', async t => {
  const { wire } = await startJudged(t)
  const { topics } = await wire.send(metadata, 12, { topics: [{ name: 't' }] })
  for (let version = 3; version <= 13; version++) {
    const name = version < 13 ? { name: 't' } : { topicId: topics[0]!.topicId }
    const topicData = [{ ...name, partitionData: [{ index: 0, records: batchOf(['v', 'X', 'w', 'X']) }] }]
    const { responses } = await wire.send(produce, version, { acks: 1, timeoutMs: 1000, topicData })
    const { errorCode, baseOffset, recordErrors, errorMessage } = responses[0]!.partitionResponses[0]!
    assert.deepEqual([errorCode, baseOffset], [INVALID_RECORD.code, -1], `version ${version}`)
    const named = [1, 3].map(batchIndex => {
      return { batchIndex, batchIndexErrorMessage: `record ${batchIndex} begins with X` }
    })
    assert.deepEqual(recordErrors, version < 8 ? [] : named)
    assert.equal(errorMessage, version < 8 ? null : '2 records begin with X.')
  }
  assert.equal((await produceTo(wire, batchOf(['v']))).baseOffset, 0)
})

test('the other partitions of a request are written, and its answer waits for the last verdict', async t => {
  const { wire, judge } = await startJudged(t, 3)
  const release = judge.hold()
  const partitionData = [['X'], ['a'], ['b', 'X']].map((values, index) => ({ index, records: batchOf(values) }))
  const answer = wire.send(produce, 9, { acks: -1, timeoutMs: 10_000, topicData: [{ name: 't', partitionData }] })
  await eventually('the verdicts are asked for', async () => judge.verdicts === 3)
  release()
  const { responses } = await answer
  assert.deepEqual(
    responses[0]!.partitionResponses.map(({ errorCode, baseOffset }) => [errorCode, baseOffset]),
    [
      [INVALID_RECORD.code, -1],
      [NONE, 0],
      [INVALID_RECORD.code, -1],
    ],
  )
})

test('requests that are sent one after the other are written in order, although their verdicts are late', async t => {
  const { wire, judge } = await startJudged(t)
  const release = judge.hold()
  const first = ['1', 'X', '2'].map(value => produceTo(wire, batchOf([value])))
  await eventually('the verdicts are asked for', async () => judge.verdicts === 3)
  release()
  const last = produceTo(wire, batchOf(['3']))
  const rows = await Promise.all([...first, last])
  assert.deepEqual(
    rows.map(({ baseOffset }) => baseOffset),
    [0, -1, 1, 2],
  )
  const values = await valuesOf(await fetchOne(wire, 0))
  assert.deepEqual(
    values.map(([, value]) => value),
    ['1', '2', '3'],
  )
})

test("a verdict that is later than the client's timeout is a timeout that says that nothing was written", async t => {
  const { wire, judge } = await startJudged(t)
  const release = judge.hold()
  const late = await produceTo(wire, batchOf(['1']), { timeoutMs: 50 })
  assert.equal(late.errorCode, REQUEST_TIMED_OUT.code)
  assert.match(late.errorMessage!, /^The records of the batch were not checked within \d+ ms, and the batch was not/)
  release()
  assert.equal((await produceTo(wire, batchOf(['2']))).baseOffset, 0)
})

test('with acks=0 a refused batch closes the connection', async t => {
  const { wire, ground } = await startJudged(t)
  const send = (value: string) => {
    const topicData = [{ name: 't', partitionData: [{ index: 0, records: batchOf([value]) }] }]
    return wire.post(produce, 9, { acks: 0, timeoutMs: 1000, topicData })
  }
  await send('good')
  await send('X')
  await wire.closed
  const other = await ground.connect()
  assert.deepEqual(await valuesOf(await fetchOne(other, 0)), [[0, 'good']])
})

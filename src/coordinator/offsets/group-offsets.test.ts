import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { costOfOffset } from '../kept-bytes.ts'
import { GroupOffsets } from './group-offsets.ts'
import { decodeOffset, offsetField } from './offset-record.ts'
import { CHANGED } from './offset-replacement.ts'

const TOPICS = ['AAAAAAAAAAAAAAAAAAAAAQ', 'AAAAAAAAAAAAAAAAAAAAAg']

const place = fc.record({ topicId: fc.constantFrom(...TOPICS), partition: fc.nat({ max: 3 }) })
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('commit' as const), place, offset: fc.nat(), noteLength: fc.nat({ max: 200 }) }),
    fc.record({ kind: fc.constant('replace' as const), place, offset: fc.option(fc.nat()) }),
    fc.record({ kind: fc.constant('forget' as const), place }),
    fc.record({ kind: fc.constant('topic' as const), topicId: fc.constantFrom(...TOPICS) }),
    fc.record({ kind: fc.constant('expire' as const), below: fc.nat() }),
  ),
  { maxLength: 40 },
)

test('if the fields that each change names are stored, the stored offsets equal those in memory, and their memory is counted', () => {
  fc.assert(
    fc.property(steps, plan => {
      const offsets = new GroupOffsets(new Map())
      const stored = new Map<string, Uint8Array>()
      for (const step of plan) {
        for (const field of change(offsets, step)) {
          const value = offsets.encode(field)
          if (value === null) assert(stored.delete(field), 'only a stored offset is forgotten')
          else stored.set(field, value)
        }
        assert.deepEqual([...stored.keys()].sort(), [...offsets.fields()].sort())
        for (const [topicId, partitions] of offsets.byTopic)
          for (const [partition, committed] of partitions)
            assert.deepEqual(decodeOffset(stored.get(offsetField(topicId, partition))!), committed)
        const all = [...offsets.byTopic.values()].flatMap(partitions => [...partitions.values()])
        assert.equal(
          offsets.bytes,
          all.reduce((sum, committed) => sum + costOfOffset(committed), 0),
        )
        assert([...offsets.byTopic.values()].every(partitions => partitions.size > 0))
      }
      assert.equal(new GroupOffsets(new Map(offsets.byTopic as never)).bytes, offsets.bytes)
    }),
  )
})

type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never

function change(offsets: GroupOffsets, step: Step): readonly string[] {
  if (step.kind === 'topic') return offsets.forgetTopics([step.topicId])
  if (step.kind === 'expire') {
    return offsets.expire(
      () => false,
      ({ offset }) => offset < step.below,
    )
  }
  const { topicId, partition } = step.place
  if (step.kind === 'forget') return offsets.forget(topicId, [partition])
  if (step.kind === 'replace') {
    const changes = offsets.replace([{ ...step.place, offset: step.offset, isExpected: () => true }], 1_000)
    assert(changes !== CHANGED)
    return changes
  }
  const metadata = 'n'.repeat(step.noteLength)
  const wanted = { ...step.place, offset: step.offset, leaderEpoch: -1, metadata, retentionMs: -1 }
  const { changes, reply } = offsets.commit([wanted], Number.POSITIVE_INFINITY, 1_000)
  assert.equal(reply, null)
  return changes
}

test('a commit stores the offsets for which there is memory, and refuses the others by name', () => {
  const offsets = new GroupOffsets(new Map())
  const wanted = [0, 1, 2].map(partition => {
    return { topicId: TOPICS[0]!, partition, offset: 5, leaderEpoch: -1, metadata: '', retentionMs: 60_000 }
  })
  const { changes, reply } = offsets.commit(wanted, 2 * costOfOffset({ metadata: '' }), 1_000)
  assert.deepEqual(changes, [offsetField(TOPICS[0]!, 0), offsetField(TOPICS[0]!, 1)])
  assert(Array.isArray(reply))
  assert.deepEqual(
    reply.map(row => row?.name ?? null),
    [null, null, 'INVALID_COMMIT_OFFSET_SIZE'],
  )
  assert.equal(offsets.byTopic.get(TOPICS[0]!)?.get(0)?.expireAtMs, 61_000)
  assert.equal(offsets.commit(wanted.slice(0, 2), 0, 2_000).reply, null, 'an offset that takes no more is stored')
})

test('replacements are made all together or not at all', () => {
  const offsets = new GroupOffsets(new Map())
  const set = (partition: number, isExpected: boolean) => {
    return { topicId: TOPICS[0]!, partition, offset: 1, isExpected: () => isExpected }
  }
  assert.equal(offsets.replace([set(0, true), set(1, false)], 1_000), CHANGED)
  assert.equal(offsets.byTopic.size, 0)
})

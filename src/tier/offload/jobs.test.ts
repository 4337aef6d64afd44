import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../testing/property.ts'
import { addRange, moveLogStart, readArchived } from '../iceberg/ranges.ts'
import {
  cancel,
  claim,
  expire,
  fail,
  finish,
  isClaimable,
  jobId,
  type Move,
  newJob,
  notSpent,
  type OffloadJob,
  retry,
  takeOver,
} from './jobs.ts'
import { evict, planJobs } from './plan-jobs.ts'

const TOPIC = { topicId: 'topic', topicName: 'orders' }
const segment = (partition: number, base: number, next = base + 10) => ({
  ...{ partition, base, next, bytes: 100, plainBytes: 120, sealedAtMs: 1_000 },
})
const pending = newJob({ ...TOPIC, ...segment(2, 30), maxAttempts: 2 }, 5_000)

function job(move: Move): OffloadJob {
  assert.equal(move.kind, 'moved', move.kind === 'refused' ? move.why : '')
  return (move as { job: OffloadJob }).job
}
function refusal(move: Move): string {
  assert.equal(move.kind, 'refused')
  return (move as { why: string }).why
}

test('an attempt counts when it begins, and names its holder, its start and its duration', () => {
  assert.equal(jobId(pending), 'topic:2:30')
  const running = job(claim(pending, 7, 6_000.7))
  assert.deepEqual(running, { ...pending, status: 'running', attempts: 1, fence: 7, startedAtMs: 6_000 })
  const done = job(finish(running, 7, 6_500))
  assert.deepEqual(done, { ...running, status: 'done', fence: null, tookMs: 500 })
  assert.equal(job(finish(running, 7, 1_000)).tookMs, 0, 'a clock that went back')
})

test('a job fails as often as its attempts allow, and is suspended then', () => {
  const first = job(fail(job(claim(pending, 7, 6_000)), 7, 'no luck', 33, 6_100))
  assert.deepEqual(first, {
    ...pending,
    ...{ status: 'failed', attempts: 1, startedAtMs: 6_000, tookMs: 100 },
    failure: { why: 'no luck', offset: 33, atMs: 6_100 },
  })
  assert.equal(isClaimable(first), true)
  const second = job(fail(job(claim(first, 7, 7_000)), 7, 'again', null, 7_100))
  assert.equal(second.isSuspended, true)
  assert.equal(second.attempts, 2)
  assert.equal(isClaimable(second), false)
  assert.match(refusal(claim(second, 7, 8_000)), /topic:2:30 is suspended; only a pending or failed job/)
  const retried = job(retry(second))
  assert.deepEqual([retried.status, retried.isSuspended, retried.attempts], ['pending', false, 0])
  assert.equal(retried.failure?.why, 'again')
})

test('an attempt that is not spent does not count, and says why it ended', () => {
  const failed = job(fail(job(claim(pending, 7, 6_000)), 7, 'no luck', null, 6_100))
  const running = job(claim(failed, 7, 7_000))
  const again = job(notSpent(running, 7, 'no room', 7_100))
  assert.deepEqual([again.status, again.attempts, again.fence, again.startedAtMs], ['pending', 1, null, null])
  assert.deepEqual(again.failure, { why: 'no room', offset: null, atMs: 7_100 })
})

test('a job of a holder that ended is pending again, or suspended if no attempt is left', () => {
  const running = job(claim(pending, 7, 6_000))
  assert.match(refusal(takeOver(running, 7, 6_500)), /the fence 7 itself/)
  const taken = job(takeOver(running, 8, 6_500))
  assert.deepEqual([taken.status, taken.attempts, taken.fence], ['pending', 1, null])
  assert.match(taken.failure!.why, /broker that ran it ended/)
  const last = job(takeOver(job(claim(taken, 8, 7_000)), 9, 7_500))
  assert.deepEqual([last.status, last.isSuspended, last.attempts], ['failed', true, 2])
  assert.match(refusal(takeOver(pending, 8, 1)), /is pending; only a running job/)
})

test('a holder that another one has replaced cannot end an attempt', () => {
  const running = job(claim(job(takeOver(job(claim(pending, 7, 6_000)), 8, 6_500)), 8, 7_000))
  for (const move of [finish(running, 7, 1), fail(running, 7, 'x', null, 1), notSpent(running, 7, 'x', 1)])
    assert.match(refusal(move), /run by the holder with the fence 8, and not with 7/)
  for (const move of [finish(pending, 7, 1), fail(pending, 7, 'x', null, 1), notSpent(pending, 7, 'x', 1)])
    assert.match(refusal(move), /is pending, so its attempt cannot end/)
})

test('only a pending or failed job is cancelled, and only a failed or cancelled one retried', () => {
  const running = job(claim(pending, 7, 6_000))
  const done = job(finish(running, 7, 6_100))
  const failed = job(fail(running, 7, 'x', null, 6_100))
  for (const each of [running, done, job(cancel(pending))])
    assert.match(refusal(cancel(each)), new RegExp(`is ${each.status}; only a pending or failed job can be cancelled`))
  for (const each of [running, done, pending]) assert.match(refusal(retry(each)), /can be retried/)
  const suspended = job(fail(job(claim(failed, 7, 1)), 7, 'x', null, 1))
  assert.deepEqual([job(cancel(suspended)).status, job(cancel(suspended)).isSuspended], ['cancelled', false])
  assert.equal(job(retry(job(cancel(failed)))).status, 'pending')
  assert.match(refusal(claim(job(cancel(failed)), 7, 1)), /is cancelled/)
})

test('retention cancels a job with its reason, also while it runs, and its attempt then ends in a refusal', () => {
  const why = 'Retention has passed the segment.'
  const running = job(claim(pending, 7, 6_000))
  const expired = job(expire(running, why, 6_400))
  assert.deepEqual([expired.status, expired.fence, expired.failure?.why], ['cancelled', null, why])
  assert.match(refusal(finish(expired, 7, 7_000)), /is cancelled/)
  assert.match(refusal(expire(expired, why, 1)), /is cancelled/)
  assert.match(refusal(expire(job(finish(running, 7, 1)), why, 1)), /is done/)
})

const RULES = { fence: 9, maxAttempts: 3, nowMs: 50_000 }
const byId = (...jobs: readonly OffloadJob[]) => new Map(jobs.map(each => [jobId(each), each]))
const archivedOf = (...ranges: readonly (readonly [number, number, number])[]) =>
  ranges.reduce((all, [partition, base, next]) => addRange(all, partition, [base, next]), readArchived({}))

test('a segment without a job gets one, unless the table has it', () => {
  const segments = [segment(0, 0), segment(0, 10), segment(1, 0)]
  const planned = planJobs(TOPIC, segments, new Map(), archivedOf([0, 0, 10]), RULES)
  assert.deepEqual(
    planned.map(each => [jobId(each), each.status, each.maxAttempts, each.createdAtMs]),
    [
      ['topic:0:10', 'pending', 3, 50_000],
      ['topic:1:0', 'pending', 3, 50_000],
    ],
  )
  assert.deepEqual(planJobs(TOPIC, segments, byId(...planned), archivedOf([0, 0, 10]), RULES), [])
  const passed = moveLogStart(readArchived({}), 0, 20)
  assert.deepEqual(
    planJobs(TOPIC, segments, new Map(), passed, RULES).map(each => jobId(each)),
    ['topic:1:0'],
  )
})

test('a job whose segment is in the table is done, whatever its state was, also if the segment is gone', () => {
  const running = job(claim(pending, 9, 6_000))
  for (const each of [pending, running, job(fail(running, 9, 'x', null, 1)), job(cancel(pending))])
    for (const segments of [[segment(2, 30)], []]) {
      const [done, ...more] = planJobs(TOPIC, segments, byId(each), archivedOf([2, 20, 50]), RULES)
      assert.deepEqual([done!.status, done!.fence, more.length], ['done', null, 0])
      assert.deepEqual(planJobs(TOPIC, segments, byId(done!), archivedOf([2, 20, 50]), RULES), [])
    }
  // The own job of an unknown commit goes on running until the ranges tell.
  assert.deepEqual(planJobs(TOPIC, [segment(2, 30)], byId(running), archivedOf(), RULES), [])
})

test('a plan takes over the jobs of a former holder and begins again what the table has lost', () => {
  const former = job(claim(pending, 3, 6_000))
  for (const segments of [[segment(2, 30)], []]) {
    const [taken] = planJobs(TOPIC, segments, byId(former), archivedOf(), RULES)
    assert.deepEqual([taken!.status, taken!.attempts], ['pending', 1])
  }
  const done = job(finish(former, 3, 6_100))
  const [again] = planJobs(TOPIC, [segment(2, 30)], byId(done), archivedOf(), RULES)
  assert.deepEqual([again!.status, again!.attempts, again!.createdAtMs], ['pending', 0, 50_000])
  assert.deepEqual(planJobs(TOPIC, [], byId(done), archivedOf(), RULES), [])
})

test('a job that does not run takes the facts of a segment that changed, and keeps its attempts', () => {
  const failed = job(fail(job(claim(pending, 9, 6_000)), 9, 'x', null, 6_100))
  const cut = { ...segment(2, 30), plainBytes: null }
  const [changed] = planJobs(TOPIC, [cut], byId(failed), archivedOf(), RULES)
  assert.deepEqual(changed, { ...failed, plainBytes: null })
  const running = job(claim(pending, 9, 6_000))
  assert.deepEqual(planJobs(TOPIC, [cut], byId(running), archivedOf(), RULES), [])
})

test('done jobs beyond the count go, the oldest first; cancelled ones of gone segments have a count of their own', () => {
  const done = (base: number, atMs: number) =>
    job(finish(job(claim(newJob({ ...TOPIC, ...segment(0, base), maxAttempts: 2 }, 1), 1, atMs)), 1, atMs + 5))
  const jobs = [done(0, 300), done(10, 100), done(20, 200), pending, job(expire(pending, 'passed', 50))]
  const evicted = (count: number, isGone = false) => evict(jobs, count, () => isGone).map(each => each.base)
  assert.deepEqual(evicted(3), [])
  assert.deepEqual(evicted(1), [10, 20])
  assert.deepEqual(evicted(0), [10, 20, 0])
  assert.deepEqual(evicted(3, true), [])
  assert.deepEqual(evicted(1, true), [10, 20])
  assert.deepEqual(evicted(0, true), [10, 20, 0, 30])
})

test('whatever happens in whatever order, no move leaves a job in a state that does not exist', () => {
  const moves = fc.array(fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 3 })), { maxLength: 40 })
  fc.assert(
    fc.property(moves, steps => {
      let now = pending
      for (const [kind, fence] of steps) {
        const all = [claim(now, fence, 1), takeOver(now, fence, 2), finish(now, fence, 3), retry(now), cancel(now)]
        all.push(
          fail(now, fence, 'why', null, 4),
          notSpent(now, fence, 'why', 4),
          expire(now, 'why', 5),
          claim(now, fence, 6),
        )
        const move = all[kind]!
        if (move.kind === 'refused') assert.match(move.why, /^The offload job topic:2:30 .*\.$/)
        else now = move.job
        assert.equal(now.status === 'running', now.fence !== null)
        assert.ok(now.attempts >= 0 && now.attempts <= now.maxAttempts, `${now.attempts} attempts`)
        assert.ok(!now.isSuspended || now.status === 'failed')
        assert.ok(now.status !== 'failed' || now.isSuspended || now.attempts < now.maxAttempts)
        assert.ok(now.status !== 'pending' || now.attempts < now.maxAttempts)
      }
    }),
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Closed, ReadQueue } from './read-queue.ts'

const turn = () => new Promise(resolve => setImmediate(resolve))

function world(threads: number, capacity: number) {
  const lengths: number[] = []
  const queue = new ReadQueue(threads, capacity, waiting => void lengths.push(waiting))
  const begun: string[] = []
  const task = (name: string) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const work = () => {
      begun.push(name)
      return promise
    }
    return { work, end: () => resolve(name) }
  }
  return { queue, lengths, begun, task }
}

test('tasks run a few at a time in their order, and one too many is turned away', async () => {
  const { queue, begun, task, lengths } = world(2, 2)
  const tasks = ['a', 'b', 'c', 'd', 'e'].map(task)
  const runs = tasks.map(({ work }) => queue.run(work))
  assert.deepEqual(
    runs.map(run => run !== null),
    [true, true, true, true, false],
  )
  assert.deepEqual([begun, queue.length], [['a', 'b'], 2])
  tasks[1]!.end()
  assert.equal(await runs[1], 'b')
  await turn()
  assert.deepEqual(begun, ['a', 'b', 'c'])
  for (const { end } of tasks) end()
  assert.deepEqual(await Promise.all(runs.filter(run => run !== null)), ['a', 'b', 'c', 'd'])
  assert.deepEqual(lengths, [1, 2, 1, 0])
})

test('no more tasks run than there are threads, also between the end of one and the begin of the next', async () => {
  const { queue } = world(2, 100)
  let running = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++running)
    await turn()
    running--
  }
  const all: Promise<void>[] = []
  for (let i = 0; i < 50; i++) {
    all.push(queue.run(work)!)
    if (i % 5 === 0) await Promise.resolve()
    if (i % 7 === 0) await turn()
  }
  await Promise.all(all)
  assert.equal(most, 2)
})

test('a task that fails lets the next one begin', async () => {
  const { queue, task } = world(1, 1)
  const failing = queue.run(() => Promise.reject(new Error('away')))
  const next = task('next')
  const run = queue.run(next.work)
  await assert.rejects(failing!, /away/)
  next.end()
  assert.equal(await run, 'next')
})

test('idle work leaves a thread for the next reader and never begins while one waits', async () => {
  const { queue, task, begun } = world(2, 5)
  const [ahead, reader] = [task('ahead'), task('reader')]
  const running = queue.runIdle(ahead.work)
  assert.ok(running !== null)
  assert.equal(queue.runIdle(task('more').work), null)
  const read = queue.run(reader.work)
  assert.deepEqual(begun, ['ahead', 'reader'])
  ahead.end()
  reader.end()
  await Promise.all([running, read])
  assert.ok(world(1, 0).queue.runIdle(task('alone').work) !== null)
})

test('closing fails the tasks that wait and those that come', async () => {
  const { queue, task } = world(1, 5)
  const running = task('running')
  const first = queue.run(running.work)
  const waiting = queue.run(task('waiting').work)
  queue.close()
  await assert.rejects(waiting!, Closed)
  await assert.rejects(queue.run(task('late').work)!, Closed)
  assert.equal(queue.runIdle(task('ahead').work), null)
  running.end()
  assert.equal(await first, 'running')
})

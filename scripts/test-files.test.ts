import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Job, jobsOf, nameOf, nextOf, plan, stageOf, type Timings } from './test-files.ts'

test('the name of a test file says its stage, and an unknown stage gives null', () => {
  assert.equal(stageOf('src/log/lane.test.ts'), 'unit')
  assert.equal(stageOf('src/http/server.longer.test.ts'), 'longer')
  assert.equal(stageOf('e2e/kcat/kcat.stores.test.ts'), 'stores')
  assert.equal(stageOf('e2e/hostile/poison.all.test.ts'), 'all')
  assert.equal(stageOf('src/log/lane.slow.test.ts'), null)
  assert.equal(stageOf('src/log/lane.ts'), null)
})

test('a short run omits the files that only --all runs, and --all runs each client on each store', () => {
  const files = [
    { file: 'a.test.ts', stage: 'unit' },
    { file: 'b.longer.test.ts', stage: 'longer' },
    { file: 'c.stores.test.ts', stage: 'stores' },
    { file: 'd.all.test.ts', stage: 'all' },
  ] as const
  const here = (file: string): Job => ({ file, store: null })
  assert.deepEqual(jobsOf(files, false), [here('b.longer.test.ts'), here('c.stores.test.ts')])
  assert.deepEqual(jobsOf(files, true), [
    here('b.longer.test.ts'),
    here('c.stores.test.ts'),
    { file: 'c.stores.test.ts', store: 'redis' },
    { file: 'c.stores.test.ts', store: 'redis-cluster' },
    here('d.all.test.ts'),
  ])
})

test('the longest file goes first, a file without timings before all, each with its share of a processor', () => {
  const timings: Timings = new Map([
    ['short', { seconds: 1, busySeconds: 0.9 }],
    ['long', { seconds: 9, busySeconds: 9 }],
    ['patient', { seconds: 5, busySeconds: 1 }],
    ['instant', { seconds: 0, busySeconds: 0 }],
    ['long on redis', { seconds: 20, busySeconds: 4 }],
  ])
  const jobs: Job[] = [
    ...['short', 'instant', 'new', 'patient', 'long'].map((file): Job => ({ file, store: null })),
    { file: 'long', store: 'redis' },
  ]
  assert.deepEqual(
    plan(jobs, timings).map(({ job, share }) => [nameOf(job), share]),
    [
      ['new', 0.5],
      ['long on redis', 0.2],
      ['long', 1],
      ['patient', 0.2],
      ['short', 0.9],
      ['instant', 0.5],
    ],
  )
})

test('the next file is the longest that the processors have time for, and alone any file runs', () => {
  const of = (...shares: number[]) => shares.map(share => ({ job: { file: String(share), store: null }, share }))
  assert.equal(nextOf(of(0.8, 0.2), of(1), 2), 0)
  assert.equal(nextOf(of(0.8, 0.2), of(1, 0.5), 2), 1)
  assert.equal(nextOf(of(0.8, 0.2), of(1, 1), 2), -1)
  assert.equal(nextOf(of(3, 0.2), [], 2), 0)
  assert.equal(nextOf([], of(1), 2), -1)
  assert.equal(nextOf([], [], 2), -1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { divide, type Job, jobsOf, stageOf, type Timings } from './test-files.ts'

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

test('each lane begins with the longest file, and a file without timings goes first in the computing lane', () => {
  const timings: Timings = new Map([
    ['short', { seconds: 1, busySeconds: 0.9 }],
    ['long', { seconds: 9, busySeconds: 8 }],
    ['patient', { seconds: 5, busySeconds: 1 }],
    ['quick', { seconds: 2, busySeconds: 0.1 }],
    ['long on redis', { seconds: 20, busySeconds: 4 }],
  ])
  const jobs: Job[] = [
    ...['short', 'quick', 'new', 'patient', 'long'].map((file): Job => ({ file, store: null })),
    { file: 'long', store: 'redis' },
  ]
  const { computing, waiting } = divide(jobs, timings)
  assert.deepEqual(
    computing.map(({ file }) => file),
    ['new', 'long', 'short'],
  )
  assert.deepEqual(
    waiting.map(({ file, store }) => [file, store]),
    [
      ['long', 'redis'],
      ['patient', null],
      ['quick', null],
    ],
  )
})

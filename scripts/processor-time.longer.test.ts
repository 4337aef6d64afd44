import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { eventually } from '../testing/eventually.ts'
import { newMeter } from './processor-time.ts'

/** Starts a child that computes without end, and waits. */
const PROGRAM = `
  require('node:child_process').spawn(process.execPath, ['--eval', 'for (;;) {}'])
  setInterval(() => {}, 1_000)
`

test('the processor time of a root has that of its descendants, also after they were killed', {
  skip: process.platform !== 'linux' && 'SKIPPED processor time: only Linux has /proc',
}, async t => {
  const parent = spawn(process.execPath, ['--eval', PROGRAM], { detached: true })
  const other = spawn('sleep', ['60'])
  const killAll = () => {
    if (parent.exitCode === null && parent.signalCode === null) process.kill(-parent.pid!, 'SIGKILL')
  }
  t.after(() => {
    killAll()
    other.kill('SIGKILL')
  })
  const names = new Map([
    [parent.pid!, 'busy'],
    [other.pid!, 'idle'],
  ])
  const meter = newMeter(pid => names.get(pid) ?? null)
  await eventually(
    'half a second of processor time is seen',
    () => {
      meter.look()
      return meter.secondsOf('busy') > 0.5
    },
    60_000,
  )
  const before = meter.secondsOf('busy')
  const ended = once(parent, 'close')
  killAll()
  await ended
  meter.look()
  assert.ok(meter.secondsOf('busy') >= before)
  assert.ok(meter.secondsOf('idle') < 0.5)
  assert.equal(meter.secondsOf('unknown'), 0)
})

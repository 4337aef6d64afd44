import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { eventually } from '../testing/eventually.ts'
import { isRunning, killProcesses } from './processes.ts'

const MARK = 'a-process-that-hears-no-signal'
/** Starts a child that outlives it, prints the child's id, ignores SIGTERM and blocks its own event loop. */
const PROGRAM = `
  const child = require('node:child_process').spawn('sleep', ['60'], { stdio: 'ignore' })
  process.on('SIGTERM', () => {})
  require('node:fs').writeSync(1, String(child.pid))
  for (;;) {}
`

test('a process that blocks its event loop is killed with what it has started, and no other', async t => {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const blocked = spawn(process.execPath, ['--eval', PROGRAM, MARK], { stdio: [...stdio] })
  const other = spawn('sleep', ['60'])
  t.after(() => [blocked, other].map(each => each.kill('SIGKILL')))
  const [printed] = await once(blocked.stdout!, 'data')
  const closed = once(blocked, 'close')
  assert.equal(
    killProcesses(command => command.includes(MARK)),
    2,
  )
  assert.deepEqual(await closed, [null, 'SIGKILL'])
  await eventually('its child is gone', async () => !isRunning(Number(String(printed))))
  assert.equal(other.exitCode ?? other.signalCode, null)
  assert.equal(
    killProcesses(command => command.includes(MARK)),
    0,
  )
})

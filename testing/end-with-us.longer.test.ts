// A child that was given to `endWithUs` ends with its parent.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { isRunning } from '../scripts/processes.ts'
import { eventually } from './eventually.ts'

const PROGRAM = `
  import { spawn } from 'node:child_process'
  import { endWithUs } from ${JSON.stringify(new URL('./end-with-us.ts', import.meta.url).href)}
  const child = spawn('sleep', ['60'])
  endWithUs(child)
  console.log(child.pid)
  setInterval(() => {}, 1000)
`

test('processes that a command has started end when SIGTERM ends the command', async t => {
  const command = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => command.kill('SIGKILL'))
  const [printed] = await once(command.stdout, 'data')
  const pid = Number(String(printed))
  assert.ok(isRunning(pid))
  command.kill('SIGTERM')
  assert.deepEqual(await once(command, 'close'), [143, null])
  await eventually('the child is gone', async () => !isRunning(pid))
})

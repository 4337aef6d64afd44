// Tests a question on a real terminal while the standard input is a pipe. The program `script` makes the terminal.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startBroker } from '../../testing/broker.ts'
import { hasProgram } from '../../testing/programs.ts'

const KETCH = fileURLToPath(new URL('../../ketch', import.meta.url))
const PASSWORD = 'correct horse battery'

test('records that are piped in are produced after the password was typed', {
  skip: hasProgram('script') ? false : 'SKIPPED script: apt-get install bsdutils',
}, async t => {
  const { url } = await startBroker(t, { 'admin.password': PASSWORD }, { hasHttp: true })
  const { KETCH_PASSWORD: _, ...env } = process.env
  const create = `KETCH_PASSWORD='${PASSWORD}' ${KETCH} topics create orders --url=${url}`
  const produce = `echo hello | ${KETCH} produce orders --url=${url}`
  const shell = spawn('script', ['-qec', `${create} && ${produce}`, '/dev/null'], { env: { ...env, SHELL: '/bin/sh' } })
  t.after(() => shell.kill())
  let shown = ''
  shell.stdout.setEncoding('utf8').on('data', text => {
    const before = shown
    shown += text
    if (shown.includes('Password of admin: ') && !before.includes('Password of admin: '))
      shell.stdin.write(`${PASSWORD}\r`)
  })
  const [status] = await once(shell, 'close')
  assert.equal(status, 0, shown)
  assert.match(shown, /^ +0 +1 +0 +0\r$/m)
  assert.doesNotMatch(shown, /correct horse/)
})

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { CommandFailed, EXIT } from './exit-status.ts'
import { type OpenKeyboard, terminalOf } from './terminal.ts'

function typing(isTTY: boolean, interrupted = new AbortController().signal) {
  const stdin = Object.assign(new PassThrough(), { isTTY })
  const stdout = new PassThrough()
  const stderr = Object.assign(new PassThrough(), { isTTY })
  const shown = () => `${stdout.read()?.toString() ?? ''}${stderr.read()?.toString() ?? ''}`
  const terminal = terminalOf({ stdin, stdout, stderr }, { KETCH_USER: 'ada' }, interrupted)
  return { terminal, stdin, shown }
}

test('a typed password is not shown, and a typed answer is', async () => {
  const { terminal, stdin, shown } = typing(true)
  const secret = terminal.ask('Password: ', { isSecret: true })
  stdin.write('correct horse\u007fe\r')
  assert.equal(await secret, 'correct horse')
  const said = shown()
  assert.ok(said.startsWith('Password: '))
  assert.doesNotMatch(said, /correct|horse/)
  const answer = terminal.ask('Sure? ')
  stdin.write('yes\r')
  assert.equal(await answer, 'yes')
  assert.match(shown(), /yes/)
})

test('without a terminal no question is asked, and Ctrl-C at a question ends the command', async () => {
  assert.equal(await typing(false).terminal.ask('Password: ', { isSecret: true }), null)
  const { terminal, stdin } = typing(true)
  const asked = terminal.ask('Password: ', { isSecret: true })
  stdin.write('\u0003')
  await assert.rejects(asked, (error: unknown) => error instanceof CommandFailed && error.status === EXIT.INTERRUPTED)
  assert.equal(terminal.variable('KETCH_USER'), 'ada')
})

test('while records are piped in, a question is answered at the keyboard, which is closed afterwards', async () => {
  const streams = (isWatched: boolean) => ({
    stdin: Object.assign(new PassThrough(), { isTTY: false }),
    stdout: new PassThrough(),
    stderr: Object.assign(new PassThrough(), { isTTY: isWatched }),
  })
  const asked = (isWatched: boolean, open: OpenKeyboard) =>
    terminalOf(streams(isWatched), {}, new AbortController().signal, open).ask('Password: ', { isSecret: true })
  const keyboard = new PassThrough()
  const answer = asked(true, () => keyboard)
  keyboard.write('correct horse\r')
  assert.equal(await answer, 'correct horse')
  assert.ok(keyboard.destroyed)
  assert.equal(await asked(true, () => null), null)
  // The user would not see the question.
  assert.equal(await asked(false, () => assert.fail('opened')), null)
})

test('piped input arrives unchanged, and Ctrl-C ends the wait for it', async () => {
  const ctrlC = new AbortController()
  const { terminal, stdin } = typing(false, ctrlC.signal)
  stdin.write('one\n')
  const input = terminal.input()[Symbol.asyncIterator]()
  assert.equal(Buffer.from((await input.next()).value as Uint8Array).toString(), 'one\n')
  const next = input.next()
  ctrlC.abort()
  await assert.rejects(next, (error: unknown) => error instanceof CommandFailed && error.status === EXIT.INTERRUPTED)
})

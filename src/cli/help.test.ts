import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fullKey, keys } from '../settings/settings.ts'
import { commands } from './commands/all.ts'
import { helpText, settingsHelp } from './help.ts'

test('the short help fits two screens, names every command, and says how to see the settings', () => {
  const text = helpText()
  for (const { name } of commands) assert(text.includes(`ketch ${name}`), name)
  assert(text.startsWith('Usage: ketch'))
  assert(text.endsWith('\n'))
  assert.match(text, /--help settings/)
  assert(text.split('\n').length < 66, `${text.split('\n').length} lines`)
})

test('the help of the settings names each with its bounds and choices', () => {
  const text = settingsHelp(null)!
  for (const key of keys) assert(text.includes(`--${fullKey(key)}`), key)
  assert.match(text, /--svc\.broker\.expiry=<duration> {2}\(default 5s\) {2}from 500ms to 1m\n/)
  assert.match(text, /--svc\.broker\.stack=<[a-z]+> {2}\(default netty\) {2}netty, reactor_netty\n/)
})

test('a word chooses settings by key, by section, by text and by variable, and an unknown one finds nothing', () => {
  const byKey = settingsHelp('jwt.expiry')!
  assert.match(byKey, /--svc\.admin\.jwt\.expiry/)
  assert.equal(byKey.match(/^ {2}--/gm)!.length, 1)
  assert.match(settingsHelp('SVC_ADMIN_JWT_EXPIRY')!, /--svc\.admin\.jwt\.expiry/)
  assert.match(settingsHelp('REDIS')!, /--svc\.redis\.uri/)
  assert.equal(settingsHelp('no such thing'), null)
})

// Loaded before each test file. node:test follows every promise with a hook, so that it can name the test whose code
// throws outside of it. The hook makes each promise costly: with it the simulation takes three times as long. Without
// it such an error still fails its file, and the output of the file has the error. Ketch itself uses no such hook.

import { createHook } from 'node:async_hooks'

const hooks: { enable(): unknown } = Object.getPrototypeOf(createHook({}))
const { enable } = hooks

// The first hook is that of node:test. Tests may enable hooks of their own.
hooks.enable = function enableNone() {
  hooks.enable = enable
  return this
}

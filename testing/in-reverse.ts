// Cleans up in the reverse order: what was begun last ends first. The hooks of a test context run in the order in
// which they were registered, and the first one that fails ends them all. A folder that is removed while a broker
// still writes into it fails, and would leave the broker running.

import type { CleanUp } from './broker.ts'

/** Returns a place for hooks. All of them run, the last one first, and then their failures are thrown. */
export function inReverse(cleanUp: CleanUp): CleanUp {
  const hooks = new AsyncDisposableStack()
  cleanUp.after(() => hooks.disposeAsync())
  return { after: hook => hooks.defer(hook) }
}

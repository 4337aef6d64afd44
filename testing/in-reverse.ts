// Cleans up in the reverse order: what was begun last ends first. The hooks of a test context run in the order in
// which they were registered, and the first one that fails ends them all. A folder that is removed while a broker
// still writes into it fails, and would leave the broker running.

import type { CleanUp } from './broker.ts'

/** Returns a place for hooks. All of them run, the last one first, and then the first failure is thrown. */
export function inReverse(cleanUp: CleanUp): CleanUp {
  const hooks: (() => Promise<void>)[] = []
  cleanUp.after(async () => {
    const failures: unknown[] = []
    for (const hook of hooks.reverse()) await hook().catch(error => failures.push(error))
    if (failures.length > 0) throw failures[0]
  })
  return { after: hook => void hooks.push(hook) }
}

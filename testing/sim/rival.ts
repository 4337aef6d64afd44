// A store in which another broker changes the documents too, always a moment earlier.

import type { Store } from '../../src/store/store.ts'

/**
 * Returns the same store, but the next `times` commits to existing documents find a version that they do not expect.
 */
export function withRival(store: Store, times = Number.POSITIVE_INFINITY): Store {
  let left = times
  return Object.assign(Object.create(store) as Store, {
    async commit(commit: Parameters<Store['commit']>[0]) {
      const { kind, name, expect } = commit
      if (expect > 0 && left-- > 0) await store.commit({ kind, name, expect, changes: [] })
      return await store.commit(commit)
    },
  })
}

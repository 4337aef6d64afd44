// A store whose documents another broker changes too, always a moment earlier.

import type { Store } from '../../src/store/store.ts'

/** The same store; the next `times` commits to documents that are there find another version than they expect. */
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

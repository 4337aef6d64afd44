// Lets callers who ask for the same at the same time share the work. No caller gets the result of work that began
// before its call, so that a change before the call counts.

import { coalesce } from '../../base/coalesce.ts'

export interface SharedAttempts<T> {
  /** Runs the work of one of the callers with this key, and resolves with its result for each of them. */
  take(key: string, work: () => Promise<T>): Promise<T>
}

export function createSharedAttempts<T>(): SharedAttempts<T> {
  const lines = new Map<string, { readonly ask: () => Promise<T>; callers: number }>()
  return {
    async take(key, work) {
      const line = lines.get(key) ?? { ask: coalesce(work), callers: 0 }
      lines.set(key, line)
      line.callers++
      try {
        return await line.ask()
      } finally {
        if (--line.callers === 0) lines.delete(key)
      }
    },
  }
}

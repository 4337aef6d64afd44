// Runs work one after the other for each key; work for different keys runs at the same time.

/** At most this many wait for one key. */
const WAITING = 256

export interface Turns {
  /** Runs the work and returns its result; null if too many callers wait for the key already. */
  take<T>(key: string, work: () => Promise<T>): Promise<T> | null
}

export function createTurns(): Turns {
  const lines = new Map<string, { last: Promise<unknown>; length: number }>()
  return {
    take(key, work) {
      const line = lines.get(key) ?? { last: Promise.resolve(), length: 0 }
      if (line.length > WAITING) return null
      lines.set(key, line)
      line.length++
      const turn = line.last.then(work).finally(() => {
        line.length--
        if (line.length === 0) lines.delete(key)
      })
      line.last = turn.catch(() => {})
      return turn
    },
  }
}

// Which programs each thread has compiled, on the side of those who ask. A thread forgets the programs that it used
// least recently once their texts have more bytes than it may remember.

import type { Thread } from '../../base/threads.ts'

export class KnownPrograms {
  readonly #mostBytes: number
  /** The sizes of the texts by key, the least recently used first. */
  readonly #known = new WeakMap<Thread, Map<string, number>>()

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  /** Whether the thread has the program. If so, it counts as used. */
  has(thread: Thread, key: string): boolean {
    const known = this.#known.get(thread)
    const size = known?.get(key)
    if (known === undefined || size === undefined) return false
    known.delete(key)
    known.set(key, size)
    return true
  }

  /**
   * Notes that the thread compiles a program. Returns the keys that it has to forget for it. Those in `needed` stay,
   * whatever their size.
   */
  add(thread: Thread, key: string, size: number, needed: ReadonlySet<string>): string[] {
    const known = this.#known.get(thread) ?? new Map<string, number>()
    this.#known.set(thread, known)
    known.set(key, size)
    let bytes = [...known.values()].reduce((sum, size) => sum + size, 0)
    const forgotten: string[] = []
    for (const [other, size] of known) {
      if (bytes <= this.#mostBytes) break
      if (needed.has(other)) continue
      known.delete(other)
      forgotten.push(other)
      bytes -= size
    }
    return forgotten
  }

  /** Notes that the thread could not compile a program. */
  remove(thread: Thread, key: string): void {
    this.#known.get(thread)?.delete(key)
  }
}

// The broker-wide budget of pending bytes: request frames that are being received or worked on, and answers that the
// network has not taken yet. Above the maximum every connection stops reading, below the resume mark all read again.
// What the log keeps in memory has its own budget (the tail cache), and is not counted here.

/** A connection as the budget sees it. */
export interface Member {
  suspend(): void
  admit(): void
  /** Bytes held for a frame that is not complete. */
  incompleteBytes(): number
  /** Closes the connection; its bytes are released before this returns. */
  shed(): void
}

export interface BudgetLimits {
  readonly maxBytes: number
  /** Below maxBytes. */
  readonly resumeBytes: number
}

export class Budget {
  readonly #limits: BudgetLimits
  readonly #members = new Set<Member>()
  #pendingBytes = 0
  #suspended = false

  constructor(limits: BudgetLimits) {
    this.#limits = limits
  }

  get pendingBytes(): number {
    return this.#pendingBytes
  }

  get suspended(): boolean {
    return this.#suspended
  }

  join(member: Member): void {
    this.#members.add(member)
    if (this.#suspended) member.suspend()
  }

  leave(member: Member): void {
    this.#members.delete(member)
  }

  /** Counts bytes in (positive) or out (negative). */
  add(deltaBytes: number): void {
    this.#pendingBytes += deltaBytes
    if (!this.#suspended) {
      if (this.#pendingBytes <= this.#limits.maxBytes) return
      this.#suspended = true
      for (const member of [...this.#members]) member.suspend()
      this.#relieve()
    } else if (this.#pendingBytes < this.#limits.resumeBytes) {
      this.#suspended = false
      for (const member of [...this.#members]) member.admit()
    }
  }

  /**
   * Frames that are not complete cannot finish while nobody reads. When they alone hold as much as the resume mark,
   * waiting would last until they time out, so the largest go until the rest can.
   */
  #relieve(): void {
    const waiting = [...this.#members].filter(member => member.incompleteBytes() > 0)
    let incomplete = waiting.reduce((sum, member) => sum + member.incompleteBytes(), 0)
    if (incomplete < this.#limits.resumeBytes) return
    waiting.sort((a, b) => b.incompleteBytes() - a.incompleteBytes())
    for (const member of waiting) {
      if (incomplete < this.#limits.resumeBytes) return
      incomplete -= member.incompleteBytes()
      member.shed()
    }
  }
}

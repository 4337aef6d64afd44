// Whose work the threads for submitted schemas do next. One caller may ask for many slow checks at once, and the others
// must not wait for all of them. There are two lines, and in each one the callers take turns:
//
//   registrations   a producer that starts waits for one
//   checks          everything else that a client asks for: checks, lookups, differences, other forms of a text
//
// Checks leave one thread free for registrations, so that no number of checks delays one. While both lines wait for the
// same thread, they take turns too. This file knows no threads and no schemas.

import { assert } from '../../base/assert.ts'

/** For whom a call is, and in which line it waits. */
export interface Turn {
  /** A user, or an address if it is not known who the client is. */
  readonly caller: string
  readonly line: Line
}

export type Line = 'registrations' | 'checks'

export interface TurnOptions {
  /** The work that may be in progress at one time. */
  readonly most: number
  /** The most calls of one caller that wait in a line, and of all callers. */
  readonly mostOfCaller: number
  readonly mostOfAll: number
}

/** A call that waits. It may stand in the lines of several callers, and begins when the first of them has its turn. */
export interface Ticket {
  readonly begin: (line: Line) => void
  /** The queues that it stands in. */
  readonly places: Set<Queue>
}

/** The calls of one caller that wait in a line, in their order. */
interface Queue {
  readonly turn: Turn
  readonly tickets: Set<Ticket>
}

export class Turns {
  readonly #options: TurnOptions
  /** In each line the callers that wait, the one whose turn is next first. */
  readonly #lines: Readonly<Record<Line, Map<string, Queue>>> = { registrations: new Map(), checks: new Map() }
  readonly #running: Record<Line, number> = { registrations: 0, checks: 0 }
  /** The line whose turn it was last. */
  #last: Line = 'checks'

  constructor(options: TurnOptions) {
    assert(options.most >= 1, `work needs at least one turn, got ${options.most}`)
    this.#options = options
  }

  /**
   * Calls `begin` in the turn of the caller, perhaps at once, with the line in which it waited. It must be followed by
   * `end` with this line. Returns the ticket, or whose calls are too many to wait: those of the caller, or of all.
   */
  ask(turn: Turn, begin: (line: Line) => void): Ticket | 'caller' | 'all' {
    const line = this.#lines[turn.line]
    const { mostOfCaller, mostOfAll } = this.#options
    if (!this.#isFree(turn.line)) {
      if ((line.get(turn.caller)?.tickets.size ?? 0) >= mostOfCaller) return 'caller'
      if (this.#waiting(turn.line) >= mostOfAll) return 'all'
    }
    const places = new Set<Queue>()
    const ticket: Ticket = {
      places,
      begin: line => {
        for (const place of places) this.#leave(place, ticket)
        this.#running[line]++
        begin(line)
      },
    }
    this.#enter(turn, ticket)
    this.#serve()
    return ticket
  }

  /** The call is for this caller too, and begins in the turn that comes first. */
  join(ticket: Ticket, turn: Turn): void {
    // It has begun, or the caller has enough of its own to wait for.
    if (
      ticket.places.size === 0 ||
      this.#lines[turn.line].get(turn.caller)?.tickets.size === this.#options.mostOfCaller
    )
      return
    this.#enter(turn, ticket)
    this.#serve()
  }

  end(line: Line): void {
    this.#running[line]--
    this.#serve()
  }

  #enter(turn: Turn, ticket: Ticket): void {
    const line = this.#lines[turn.line]
    const queue = line.get(turn.caller) ?? { turn, tickets: new Set<Ticket>() }
    line.set(turn.caller, queue)
    queue.tickets.add(ticket)
    ticket.places.add(queue)
  }

  #leave(queue: Queue, ticket: Ticket): void {
    queue.tickets.delete(ticket)
    ticket.places.delete(queue)
    if (queue.tickets.size === 0) this.#lines[queue.turn.line].delete(queue.turn.caller)
  }

  #serve(): void {
    for (;;) {
      const line = this.#next()
      if (line === null) return
      const queues = this.#lines[line]
      const [queue] = queues.values()
      const [ticket] = queue!.tickets
      // The caller is the last one now, if it has more.
      queues.delete(queue!.turn.caller)
      queues.set(queue!.turn.caller, queue!)
      this.#last = line
      ticket!.begin(line)
    }
  }

  /** Returns the line whose turn it is; null if none waits, or if all turns are taken. */
  #next(): Line | null {
    const order: readonly Line[] = this.#last === 'checks' ? ['registrations', 'checks'] : ['checks', 'registrations']
    return order.find(line => this.#lines[line].size > 0 && this.#isFree(line)) ?? null
  }

  #isFree(line: Line): boolean {
    const { registrations, checks } = this.#running
    const { most } = this.#options
    if (registrations + checks >= most) return false
    return line === 'registrations' || checks < Math.max(1, most - 1)
  }

  #waiting(line: Line): number {
    return [...this.#lines[line].values()].reduce((sum, { tickets }) => sum + tickets.size, 0)
  }
}

// Follows the records of a topic as they arrive. The broker sends server-sent events (HTML Standard, 9.2).
// They are read with fetch: an EventSource does not stop for good when the session ends, and does not say why it has no
// stream. The page decides which records it keeps.

import type { ShownRecord, TailEventData } from '../../src/api/messages.ts'
import { addressOf, pause, send } from './client.ts'
import { ownProblem, Problem } from './problem.ts'

export type TailEvent =
  /** The stream begins, also after a pause. */
  | { readonly kind: 'begin'; readonly cursor: string }
  | { readonly kind: 'messages'; readonly cursor: string; readonly messages: readonly ShownRecord[] }
  /** The broker skipped records; null if it does not know how many. */
  | { readonly kind: 'dropped'; readonly cursor: string; readonly count: number | null }
  /** The topic is gone. Nothing follows. */
  | { readonly kind: 'end'; readonly problem: Problem }

interface Tailed {
  readonly topic: string
  /** The query of the operation, without the cursor. */
  readonly query: Readonly<Record<string, string | number | null>>
  /** Where to begin: the cursor of an event or of a page; null for the end of the log. */
  readonly cursor: string | null
}

/** The time in ms after which a stream without a byte is taken for dead. The broker sends something every 15 s. */
const SILENCE_MS = 40_000
/** The stream may last as long as the page. */
const PATIENCE_MS = 24 * 60 * 60 * 1_000
const AGAIN_AFTER_MS = 2_000

/**
 * Yields the events, in order and without an end: a stream that breaks continues where it was. Throws a Problem if the
 * broker refuses, and what `signal` aborts with.
 */
export async function* tail({ topic, query, cursor }: Tailed, signal: AbortSignal): AsyncGenerator<TailEvent, void> {
  for (;;) {
    try {
      for await (const event of streamOnce(
        addressOf('tail messages', { params: { topic }, query: { ...query, cursor } }),
        signal,
      )) {
        yield event
        if (event.kind === 'end') return
        cursor = event.cursor
      }
    } catch (error) {
      signal.throwIfAborted()
      // The frame says that the broker is away.
      if (!(error instanceof Problem && error.isAway)) throw error
    }
    await pause(AGAIN_AFTER_MS, signal)
  }
}

async function* streamOnce(address: string, signal: AbortSignal): AsyncGenerator<TailEvent, void> {
  const silence = new Silence()
  try {
    const answer = await send(address, {}, PATIENCE_MS, AbortSignal.any([signal, silence.signal]))
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    const parser = new EventParser()
    for (;;) {
      silence.broken()
      const { done, value } = await reader.read()
      if (done) return
      for (const { name, id, data } of parser.push(value)) {
        const event = eventOf(name, id, data)
        if (event !== null) yield event
      }
    }
  } catch (error) {
    signal.throwIfAborted()
    // The connection broke, or was silent for too long.
    throw error instanceof Problem ? error : ownProblem('UNREACHABLE')
  } finally {
    silence.end()
  }
}

/** Aborts its signal when nothing was heard for too long. */
class Silence {
  readonly #late = new AbortController()
  #waiting = new AbortController()

  constructor() {
    this.broken()
  }

  get signal(): AbortSignal {
    return this.#late.signal
  }

  /** Something was heard: the time begins again. */
  broken(): void {
    this.end()
    this.#waiting = new AbortController()
    pause(SILENCE_MS, this.#waiting.signal).then(
      () => this.#late.abort(),
      () => {
        // Something was heard in time.
      },
    )
  }

  end(): void {
    this.#waiting.abort()
  }
}

function eventOf(name: string, cursor: string, data: string): TailEvent | null {
  switch (name) {
    case 'begin':
      return { kind: 'begin', cursor }
    case 'messages': {
      // The text of a record is a string in this JSON: its own JSON is never parsed.
      const { messages } = JSON.parse(data) as TailEventData['messages']
      return { kind: 'messages', cursor, messages }
    }
    case 'dropped': {
      const { count } = JSON.parse(data) as TailEventData['dropped']
      return { kind: 'dropped', cursor, count }
    }
    case 'end': {
      const { code, detail } = JSON.parse(data) as TailEventData['end']
      return { kind: 'end', problem: new Problem({ code, title: 'The live tail has ended.', detail }) }
    }
    default:
      // A later broker may have more events.
      return null
  }
}

export interface StreamEvent {
  readonly name: string
  /** The last id of the stream so far; empty before the first. */
  readonly id: string
  readonly data: string
}

/** Cuts a stream of text into its events. A piece may end anywhere. Lines end with LF, as the broker writes them. */
export class EventParser {
  #rest = ''
  #name = ''
  #id = ''
  #data: string[] = []

  /** Returns the events that this piece completes. */
  push(piece: string): readonly StreamEvent[] {
    const events: StreamEvent[] = []
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) {
      if (line !== '') {
        this.#take(line)
        continue
      }
      if (this.#data.length > 0) {
        events.push({ name: this.#name === '' ? 'message' : this.#name, id: this.#id, data: this.#data.join('\n') })
      }
      this.#name = ''
      this.#data = []
    }
    return events
  }

  #take(line: string): void {
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.#name = value
    else if (field === 'id') this.#id = value
    else if (field === 'data') this.#data.push(value)
  }
}

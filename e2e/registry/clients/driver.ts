// A client library of the schema registry, which runs in a program of its own beside the tests: one line of JSON for
// each request, and one for its answer. Each library has one such program (libraries.ts).
//
//   {"verb": "produce", registry, kafka, topic, schema, orders}          serializes with registration, and sends
//   {"verb": "consume", registry, kafka, topic, schema, group, count}    {"done": [order, ...]}
//   {"verb": "register", registry, subject, schema}                      {"done": id}
//   {"verb": "send", kafka, topic, values}                               sends bytes without a serializer (base64)
//
// A request that fails is answered with {"error": {type, message, ...}}, by the library's own exception.

import type { CleanUp } from '../../../testing/broker.ts'
import { endWithUs } from '../../../testing/end-with-us.ts'
import { type Running, startCommand } from '../../command.ts'
import type { Format, Order, OrderSchema } from './orders.ts'

export interface Registry {
  readonly url: string
  readonly username?: string
  readonly password?: string
  /** The PEM file of the certificate authority, for an https URL. */
  readonly ca?: string
}

export interface Kafka {
  readonly address: string
  /** A credential for SCRAM-SHA-256. */
  readonly username?: string
  readonly password?: string
}

export interface Library {
  readonly name: string
  readonly from: string
  readonly version: string
  readonly formats: readonly Format[]
  /** Returns why this machine cannot run it, and how to enable it; null if it can run. */
  absence(): string | null
  readonly command: readonly [program: string, ...args: string[]]
}

/** The exception of a library, in its own words. */
export interface LibraryError {
  readonly type: string
  readonly message: string
  /** The status of HTTP, if the exception has it. */
  readonly status?: number
  /** The `error_code` of the registry, or the error code of Kafka. */
  readonly code?: number
  readonly name?: string
}

export class LibraryRefused extends Error {
  readonly error: LibraryError
  constructor(library: string, verb: string, error: LibraryError) {
    super(`${library} could not ${verb}: ${JSON.stringify(error)}`)
    this.error = error
  }
}

export interface Driver {
  readonly library: Library
  produce(at: Place, topic: string, schema: OrderSchema, orders: readonly (Order | null)[]): Promise<void>
  consume(at: Place, topic: string, schema: OrderSchema, count: number): Promise<readonly (Order | null)[]>
  register(registry: Registry, subject: string, schema: OrderSchema): Promise<number>
  send(kafka: Kafka, topic: string, values: readonly Buffer[]): Promise<void>
}

export interface Place {
  readonly registry: Registry
  readonly kafka: Kafka
  /** One client of the registry, with its caches, serves all such requests. Only Confluent's for Python and Node. */
  readonly isShared?: true
}

/** Starts the program of the library. It answers one request after the other, and ends with the test. */
export function startDriver(cleanUp: CleanUp, library: Library): Driver {
  const [program, ...args] = library.command
  const running: Running = startCommand(program, args, { keepOpen: true, env: { PYTHONUNBUFFERED: '1' } })
  endWithUs(running.child)
  cleanUp.after(async () => {
    running.child.stdin!.end()
    await running.done
  })
  let last: Promise<unknown> = Promise.resolve()
  let number = 0
  let groups = 0

  const askNow = async (verb: string, request: object) => {
    const asked = number++
    running.child.stdin!.write(`${JSON.stringify({ number: asked, verb, ...request })}\n`)
    const answer = JSON.parse(await running.line(line => JSON.parse(line).number === asked))
    if (answer.error !== undefined) throw new LibraryRefused(library.name, verb, answer.error)
    return answer.done
  }
  const ask = (verb: string, request: object) => {
    const answer = last.then(() => askNow(verb, request))
    last = answer.catch(() => undefined)
    return answer
  }
  return {
    library,
    produce: (at, topic, schema, orders) => ask('produce', { ...at, topic, schema, orders }),
    consume: (at, topic, schema, count) =>
      ask('consume', { ...at, topic, schema, group: `${library.name}-${groups++}-${topic}`, count }),
    register: (registry, subject, schema) => ask('register', { registry, subject, schema }),
    send: (kafka, topic, values) =>
      ask('send', { kafka, topic, values: values.map(value => value.toString('base64')) }),
  }
}

// The loop of the drivers in JavaScript: a line of JSON in, a line of JSON out (driver.ts).

import { createInterface } from 'node:readline'
import type { LibraryError } from './driver.ts'

type Verb = (request: never) => Promise<unknown>

/** Answers the requests of standard input, one after the other, until it ends. */
export async function answerRequests(
  verbs: Readonly<Record<string, Verb>>,
  errorOf: (cause: Error) => LibraryError,
): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line)
    const answer = await (verbs[request.verb]!(request as never) as Promise<unknown>).then(
      done => ({ done: done ?? null }),
      cause => ({ error: errorOf(cause as Error) }),
    )
    process.stdout.write(`${JSON.stringify({ number: request.number, ...answer })}\n`)
  }
}

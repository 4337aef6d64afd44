// Asks the admin API. An answer comes back as its value, a refusal and a missing answer as a Problem. A request that
// the broker refused without looking at it is repeated here: after a new sign-in, and when the broker was busy.

import { withQuery } from '../../src/api/first-reads.ts'
import type { Answer, Asked, Contract } from './contract.ts'
import { isLike } from './likeness.ts'
import { operations } from './operations.ts'
import { ownProblem, type Problem, problemOf } from './problem.ts'

export type Operation = keyof typeof operations

/** The time in ms in which an answer must begin. Operations that look through data get longer. */
const PATIENCE_MS = 15_000
const LONG_PATIENCE_MS = 60_000
const LONG: ReadonlySet<string> = new Set<Operation>([
  'browse messages',
  'show message',
  'delete records',
  'delete topic',
  'run storage worker',
  'retry failed offload jobs',
])

/**
 * The most reads that wait for their answers at once. A browser opens six connections to a server. A live tail keeps
 * one, and the heartbeat and the code of the next page need one also while no read is answered.
 */
const MOST_READS = 4
let readsUnderWay = 0
/** How often a read that waits for its turn looks, in ms. */
const TURN_MS = 10
const SESSION_PATH = operations['describe session'].path

const BUSY_ATTEMPTS = 4
const BUSY_AFTER_MS = 1_000

interface Watch {
  /** Resolves when somebody has signed in, or rejects when the user gives up. */
  readonly signIn: () => Promise<void>
  /** The user may do nothing before the password is changed. */
  readonly passwordChangeRequired: () => void
  /** Hears of every answer: null for one that came, else why none came. */
  readonly answered: (problem: Problem | null) => void
}

let watch: Watch | null = null

/** Sets who signs in for a request without a session, and who hears of answers. One page has one. */
export function watchAnswers(given: Watch | null): void {
  watch = given
}

type Values = Readonly<Record<string, unknown>>

/** Returns the path with its parameters and the query, as the address of a request or of a download. */
export function addressOf(name: Operation, { params = {}, query = {} }: { params?: Values; query?: Values }): string {
  const path = operations[name].path.replaceAll(/:(\w+)/g, (_, each: string) =>
    encodeURIComponent(String(params[each])),
  )
  return withQuery(path, query)
}

export interface AskOptions {
  readonly signal?: AbortSignal
  /** The time in ms in which the answer must begin. */
  readonly patienceMs?: number
}

/** Resolves to the answer of an operation. Throws a Problem, and what `signal` aborts with. */
export async function ask<Name extends keyof Contract>(
  name: Name,
  asked: Asked<Name>,
  { signal, patienceMs = LONG.has(name) ? LONG_PATIENCE_MS : PATIENCE_MS }: AskOptions = {},
): Promise<Answer<Name>> {
  const { params, query, body } = asked as { params?: Values; query?: Values; body?: unknown }
  const address = addressOf(name, { ...(params && { params }), ...(query && { query }) })
  const init: RequestInit = { method: operations[name].method }
  if (init.method !== 'GET') {
    init.headers = { 'content-type': 'application/json' }
    init.body = body === undefined ? null : JSON.stringify(body)
    if (body === undefined) delete init.headers
  }
  const answer = await send(address, init, patienceMs, signal)
  if (answer.status === 204 && operations[name].answer === null) return undefined as Answer<Name>
  let found: unknown
  try {
    found = await answer.json()
  } catch (error) {
    signal?.throwIfAborted()
    throw error instanceof SyntaxError ? ownProblem('NOT_UNDERSTOOD', answer.status) : ownProblem('UNREACHABLE')
  }
  if (!isLike(found, operations[name].answer)) throw ownProblem('NOT_UNDERSTOOD', answer.status)
  return found as Answer<Name>
}

/**
 * Resolves to a good answer, whose body is not read yet. Asks for a sign-in, and waits for a busy broker. Throws a
 * Problem.
 */
export async function send(
  address: string,
  init: RequestInit,
  patienceMs: number,
  signal?: AbortSignal,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const answer = await sendOnce(address, init, patienceMs, signal)
    if (answer.ok) return answer
    const problem = await problemOf(answer)
    if (problem.code === 'UNAUTHENTICATED' && watch !== null) {
      await watch.signIn()
      signal?.throwIfAborted()
      continue
    }
    if (problem.code === 'PASSWORD_CHANGE_REQUIRED') watch?.passwordChangeRequired()
    if (problem.code !== 'BUSY' || attempt === BUSY_ATTEMPTS) {
      watch?.answered(problem.isAway ? problem : null)
      throw problem
    }
    await pause(problem.retryAfterMs ?? BUSY_AFTER_MS, signal)
  }
}

/**
 * The addresses whose latest request had no answer. The browser keeps a request that the page named (rel=preload) when
 * the script gives it up, and lets others of the same address wait for it. A request that asks no cache does not wait.
 */
const unanswered = new Set<string>()

async function sendOnce(address: string, init: RequestInit, patienceMs: number, signal?: AbortSignal) {
  const late = AbortSignal.timeout(patienceMs)
  const either = signal === undefined ? late : AbortSignal.any([signal, late])
  const isRead = init.method === 'GET' && address !== SESSION_PATH
  while (isRead && readsUnderWay >= MOST_READS && !either.aborted) await pause(TURN_MS)
  if (isRead) readsUnderWay++
  try {
    const cache = unanswered.has(address) ? 'no-store' : 'default'
    const answer = await fetch(address, { ...init, signal: either, cache })
    unanswered.delete(address)
    if (answer.ok) watch?.answered(null)
    return answer
  } catch {
    if (either.aborted) unanswered.add(address)
    signal?.throwIfAborted()
    const problem = ownProblem(late.aborted ? 'NO_ANSWER' : 'UNREACHABLE')
    watch?.answered(problem)
    throw problem
  } finally {
    if (isRead) readsUnderWay--
  }
}

/** Resolves after a time in ms. Throws what the signal aborts with. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = () => resolve()
  const timer = setTimeout(wake, ms)
  // A signal may live as long as the page, so that the listener must go.
  signal?.addEventListener('abort', wake)
  await promise
  clearTimeout(timer)
  signal?.removeEventListener('abort', wake)
  signal?.throwIfAborted()
}

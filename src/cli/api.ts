// The client of the admin API for commands. A session begins at the first request and ends with the command. Answers
// are JSON, and a failure is a CommandFailed with a sentence and an exit status. The client keeps nothing on disk,
// and takes no password from a command line.

import type { AuthStatus, SignedIn, SignIn } from '../api/auth.ts'
import type { ProblemBody } from '../api/problem.ts'
import { type Clock, within } from '../base/clock.ts'
import { CommandFailed, EXIT, type ExitStatus } from './exit-status.ts'
import { withProgress } from './progress.ts'
import { type ServerEvent, serverEvents } from './server-events.ts'
import type { Terminal } from './terminal.ts'
import { failureOf } from './trust.ts'

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

export interface Api {
  /** The address of the admin API, without a slash at its end. */
  readonly url: string
  /** The user that signs in. */
  readonly user: string
  /**
   * Begins the session if none has begun, so that the password is asked for before anything else is shown. Throws
   * CommandFailed if the user may not sign in.
   */
  signIn(): Promise<void>
  /** Resolves with the password of the user. The first call asks the user for it. */
  password(): Promise<string>
  get<T>(path: string, query?: Query): Promise<T>
  post<T>(path: string, body?: object): Promise<T>
  put<T>(path: string, body: object): Promise<T>
  delete<T>(path: string, query?: Query): Promise<T>
  /** Sends a GET for a health probe. It needs no session, and status 503 is an answer and not a failure. */
  probe<T>(path: string): Promise<{ readonly status: number; readonly body: T }>
  /** Yields the body in chunks, as they arrive. Throws if the body ends too early. */
  download(path: string, query: Query): AsyncIterable<Uint8Array>
  /** Yields events as they arrive, until the broker ends the stream or the user interrupts. */
  events(path: string, query: Query, lastId: string | null): AsyncIterable<ServerEvent>
  /** Ends the session. */
  close(): Promise<void>
}

export interface ApiOptions {
  readonly url: string
  readonly user: string
  readonly terminal: Terminal
  readonly clock: Clock
}

/** The time in ms for one answer. The broker itself gives up earlier. */
const TIMEOUT_MS = 60_000
const SIGN_OUT_MS = 2_000
const COOKIE = /^svc-admin-session=([^;]+)/

export function createApi({ url: given, user, terminal, clock }: ApiOptions): Api {
  const url = given.replace(/\/+$/, '')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new CommandFailed(
      EXIT.USAGE,
      `--url: got ${JSON.stringify(given)}, takes http://host:port or https://host:port`,
    )
  let signingIn: Promise<string | null> | null = null

  async function send(method: string, path: string, init: { body?: object; headers?: Record<string, string> } = {}) {
    const late = new AbortController()
    const signal = AbortSignal.any([late.signal, terminal.interrupted])
    const headers = { accept: 'application/json', ...init.headers }
    const request =
      init.body === undefined
        ? { method, headers, signal }
        : {
            method,
            signal,
            body: JSON.stringify(init.body),
            headers: { ...headers, 'content-type': 'application/json' },
          }
    const answered = within(clock, TIMEOUT_MS, fetch(`${url}${path}`, request), () => {
      late.abort()
      throw new CommandFailed(EXIT.UNAVAILABLE, `${url} has not answered for ${TIMEOUT_MS / 1000} s`)
    })
    try {
      return await withProgress({ terminal, clock }, seconds => `waiting for ${url}: ${seconds} s`, answered)
    } catch (error) {
      if (error instanceof CommandFailed) throw error
      throw failed(failureOf(url, error, reasonOf(error)), error)
    }
  }

  function failed(why: string, error: unknown): CommandFailed {
    if (terminal.interrupted.aborted) return new CommandFailed(EXIT.INTERRUPTED, 'interrupted', { cause: error })
    return new CommandFailed(EXIT.UNAVAILABLE, why, { cause: error })
  }

  let asking: Promise<string> | null = null
  const password = () => (asking ??= askPassword())
  async function askPassword(): Promise<string> {
    const given = terminal.variable('KETCH_PASSWORD')
    const found = given ?? (await terminal.ask(`Password of ${user}: `, { isSecret: true }))
    if (found === null)
      throw new CommandFailed(
        EXIT.USAGE,
        `the password of ${user} is needed: set KETCH_PASSWORD, or run this in a terminal`,
      )
    return found
  }

  /** Signs in. Resolves with the cookie of the session; null if the broker needs no sign-in. */
  async function signIn(): Promise<string | null> {
    const { securityEnabled } = await read<AuthStatus>(await send('GET', '/api/v1/auth/status'))
    if (!securityEnabled) return null
    const body: SignIn = { username: user, password: await password() }
    const response = await send('POST', '/api/v1/auth/login', { body })
    const { passwordChangeRequired } = await read<SignedIn>(response)
    if (passwordChangeRequired)
      terminal.err(`ketch: ${user} has the password that Ketch ships with; change it: ketch users password ${user}\n`)
    const cookie = response.headers.getSetCookie().flatMap(each => COOKIE.exec(each)?.[1] ?? [])[0]
    if (cookie === undefined) throw new CommandFailed(EXIT.SOFTWARE, `${url} began a session and set no cookie`)
    return `svc-admin-session=${cookie}`
  }

  async function session(): Promise<Record<string, string>> {
    signingIn ??= signIn()
    const cookie = await signingIn
    return cookie === null ? {} : { cookie }
  }

  /** Returns the body of a successful answer. Throws CommandFailed for any other answer. */
  async function read<T>(response: Response): Promise<T> {
    const body = await bodyOf(response, url)
    if (response.ok) return body as T
    throw refusalOf(response, body)
  }

  const ask = async <T>(method: string, path: string, body?: object): Promise<T> =>
    await read<T>(
      await send(method, path, body === undefined ? { headers: await session() } : { body, headers: await session() }),
    )

  return {
    url,
    user,
    async signIn() {
      await session()
    },
    password,
    get: (path, query) => ask('GET', withQuery(path, query)),
    post: (path, body) => ask('POST', path, body),
    put: (path, body) => ask('PUT', path, body),
    delete: (path, query) => ask('DELETE', withQuery(path, query)),
    async probe<T>(path: string) {
      const response = await send('GET', path)
      const body = await bodyOf(response, url)
      if (response.ok || response.status === 503) return { status: response.status, body: body as T }
      throw refusalOf(response, body)
    },
    async *download(path, query) {
      const response = await send('GET', withQuery(path, query), { headers: await session() })
      if (!response.ok) throw refusalOf(response, await bodyOf(response, url))
      try {
        if (response.body !== null) yield* response.body
      } catch (error) {
        throw failed(`the answer of ${url} broke off: ${reasonOf(error)}`, error)
      }
    },
    async *events(path, query, lastId) {
      const headers = { ...(await session()), accept: 'text/event-stream' }
      const response = await send('GET', withQuery(path, query), {
        headers: lastId === null ? headers : { ...headers, 'last-event-id': lastId },
      })
      if (!response.ok) throw refusalOf(response, await bodyOf(response, url))
      if (response.body !== null) yield* serverEvents(response.body)
    },
    async close() {
      const cookie = await signingIn?.catch(() => null)
      if (!cookie) return
      // The session would expire by itself. If the broker is away now, the command has still succeeded.
      const ended = fetch(`${url}/api/v1/auth/logout`, { method: 'POST', headers: { cookie } }).catch(() => null)
      await within(clock, SIGN_OUT_MS, ended, () => null)
    },
  }
}

function withQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue
    for (const each of Array.isArray(value) ? value : [value]) parameters.append(name, String(each))
  }
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}

/** Returns the JSON of the body, or null without a body. */
async function bodyOf(response: Response, url: string): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    throw new CommandFailed(EXIT.UNAVAILABLE, `the answer of ${url} ended too early: ${reasonOf(error)}`, {
      cause: error,
    })
  })
  if (text === '') return null
  if (/[/+]json\b/.test(response.headers.get('content-type') ?? '')) {
    try {
      return JSON.parse(text)
    } catch {
      // The error below reports it.
    }
  }
  throw new CommandFailed(EXIT.UNAVAILABLE, `no Ketch answers at ${url}: the answer is ${response.status} without JSON`)
}

function refusalOf({ status, headers }: Response, body: unknown): CommandFailed {
  const problem = body as ProblemBody | null
  if (typeof problem?.code !== 'string') return new CommandFailed(EXIT.UNAVAILABLE, `the answer is ${status}`)
  const again = headers.get('retry-after')
  const wait = again === null ? '' : ` (try again in ${again} s)`
  const fields = Object.entries(problem.fields ?? {}).filter(([, why]) => !problem.detail.includes(why))
  const more = fields.map(([field, why]) => `\n  ${field}: ${why}`).join('')
  return new CommandFailed(statusOf(status), `${problem.detail} [${problem.code}]${wait}${more}`, { problem })
}

function statusOf(status: number): ExitStatus {
  if (status === 401 || status === 403) return EXIT.NO_PERMISSION
  if (status === 429 || status === 502 || status === 503 || status === 504) return EXIT.UNAVAILABLE
  return status >= 500 ? EXIT.SOFTWARE : EXIT.REFUSED
}

/** Returns the message of the innermost error, which has the reason. fetch itself only reports that it failed. */
function reasonOf(error: unknown): string {
  let reason: unknown = error
  while (reason instanceof Error && reason.cause !== undefined) reason = reason.cause
  if (reason instanceof AggregateError) reason = reason.errors[0]
  return reason instanceof Error ? reason.message : String(reason)
}

// An answer that says no, as an error: the problem of the API, or the reason why there is no answer. Its sentences are
// for people.

import type { ProblemBody } from '../../src/api/problem.ts'

/** Codes of the console itself, beside those of src/http/problems.ts. */
type OwnCode = 'UNREACHABLE' | 'NO_ANSWER' | 'NOT_UNDERSTOOD' | 'NOT_REPEATED'

export class Problem extends Error {
  override readonly name = 'Problem'
  /** 0 if no answer came. */
  readonly status: number
  readonly code: string
  readonly title: string
  readonly detail: string
  /** The objection to each field as a sentence, by the name in the request. */
  readonly fields: Readonly<Record<string, string>>
  /** Null if no answer came: only the broker gives a request its id. */
  readonly requestId: string | null
  /** The time in ms after which the broker wants the request again; null if it says nothing. */
  readonly retryAfterMs: number | null

  constructor(
    body: Partial<Omit<ProblemBody, 'code'>> & { readonly code: string },
    retryAfterMs: number | null = null,
  ) {
    super(body.detail ?? body.title ?? body.code)
    this.status = body.status ?? 0
    this.code = body.code
    this.title = body.title ?? 'The request failed.'
    this.detail = body.detail ?? this.title
    this.fields = Object.fromEntries(Object.entries(body.fields ?? {}).map(([name, text]) => [name, sentenceOf(text)]))
    this.requestId = body.requestId ?? null
    this.retryAfterMs = retryAfterMs
  }

  /** True if the broker, or the store behind it, is away: the same request may succeed later. */
  get isAway(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504
  }
}

/** Returns the objection as a sentence. The API leaves the subject out: `is shorter than 8 bytes`, `got 0, takes 1`. */
export function sentenceOf(objection: string): string {
  if (/^(got|it) /.test(objection)) return `${objection[0]!.toUpperCase()}${objection.slice(1)}.`
  return /^(takes|is|has|must|may|names|begins|ends|contains) /.test(objection) ? `The value ${objection}.` : objection
}

const SENTENCES: Readonly<Record<OwnCode, string>> = {
  UNREACHABLE: 'The broker cannot be reached. Check that it runs and that this address leads to it.',
  NO_ANSWER: 'The broker accepted the request but does not answer.',
  NOT_REPEATED: 'The session ended before the broker took the request. It did not run.',
  NOT_UNDERSTOOD: 'The answer did not come from a Ketch broker. A proxy in between may have answered.',
}

export function ownProblem(code: OwnCode, status = 0): Problem {
  return new Problem({ code, title: SENTENCES[code], detail: SENTENCES[code], status })
}

/** Returns the error as a problem. Any other error is a mistake of the console. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem({
    code: 'CONSOLE_ERROR',
    title: 'The console made a mistake.',
    detail: error instanceof Error ? error.message : String(error),
  })
}

/** Returns the problem if none of its objections stands at a field; else null. */
export function unplaced(problem: Problem | null): Problem | null {
  return problem !== null && Object.keys(problem.fields).length === 0 ? problem : null
}

/** Returns the problem of an answer that is not ok. */
export async function problemOf(answer: Response): Promise<Problem> {
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN)
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : null
  try {
    const body = (await answer.json()) as ProblemBody
    if (isProblem(body)) return new Problem({ ...body, status: answer.status }, retryAfterMs)
  } catch {
    // The body is not JSON, so that it is not the broker's.
  }
  return ownProblem('NOT_UNDERSTOOD', answer.status)
}

/** Returns whether the body has texts where a page shows texts. */
function isProblem(body: ProblemBody | null): body is ProblemBody {
  if (typeof body !== 'object' || body === null || typeof body.code !== 'string') return false
  const { title = '', detail = '', requestId = '', fields = {} } = body
  return [title, detail, requestId, ...Object.values(fields)].every(text => typeof text === 'string')
}

// The type of a face: a part of the HTTP port with its own paths, authentication, media types and error bodies. The
// admin API is one face, the console another, and a face may follow the rules of a foreign API. server.ts and
// listener.ts do the same for every face: limits, security headers, the check of the Origin, draining, the audit
// line. The face that owns the path of a request decides everything else.

import type { Identity } from '../../auth/console/identity.ts'
import type { Caller } from '../access.ts'
import type { Problem } from '../problems.ts'
import type { AnyRoute } from '../route.ts'
import type { InvalidFields } from '../validation.ts'

export interface Face {
  /** The name, for messages about defects of the broker. */
  readonly name: string
  /**
   * The paths of this face, each with everything below it: `/api/v1` includes `/api/v1/topics`, and not `/api/v1x`.
   * `/` includes no other path.
   */
  readonly paths: readonly string[]
  /** The routes below these paths. Other requests there are answered 404, in this face's own form. */
  readonly routes: readonly AnyRoute[]
  /** How a body is read, by its media type in lower case. Other types are answered 415. */
  readonly reads: Readonly<Record<string, ReadBody>>
  /** How a body without a Content-Type is read; undefined if it is answered 415. */
  readonly readsUntyped?: ReadBody
  /**
   * The Content-Type of a good answer with a body, if its route sets no other. A function chooses it by the Accept
   * header, and its choice is sent as it is.
   */
  readonly writes: string | ((accept: string | undefined) => string)
  /** True if clients of Kafka wait for its answers, which are short: no other work goes first. */
  readonly isPrompt?: true
  /** Headers of every answer of this face, errors too. */
  readonly headers?: Readonly<Record<string, string>>
  /** Returns the request target as the routes spell it, for clients of a foreign API that spell it in other ways. */
  spell?(target: string): string
  /**
   * Resolves with the caller, null if any client may call the route, or the problem if the caller may not call it.
   * Throws what the store throws. It is called twice for a change: before the body is read, and when the body has
   * arrived. `params` are the decoded parameters of the path, unchecked.
   */
  admit(route: AnyRoute, caller: Caller, params: Params): Promise<Identity | Problem | null>
  /** Returns the problem for a part of a request that does not fit its route; by default INVALID_REQUEST. */
  misfit?(what: InvalidFields): Problem
  /**
   * Returns the body of an error in the form of this face. The status and the headers of the problem are sent as they
   * are. `accept` is the Accept header of the request.
   */
  errorOf(problem: Problem, requestId: string, accept: string | undefined): ErrorBody
}

export type Params = Readonly<Record<string, string | undefined>>

/**
 * Returns the value of the bytes, or the sentence that says why they are refused. `mostValues` is that of the route, if
 * it has one.
 */
export type ReadBody = (
  bytes: Buffer,
  mostValues?: number,
) => { readonly value: unknown } | { readonly refused: string }

export interface ErrorBody {
  readonly contentType: string
  /** A text is sent as it is, an object as JSON. */
  readonly body: object | string
}

/**
 * Returns the face that owns the path of this request target; undefined if no face owns it. The path '' owns every
 * path.
 */
export function faceAt(faces: readonly Face[], target: string): Face | undefined {
  const [path] = target.replace(/^https?:\/\/[^/?]*/i, '').split('?', 1) as [string]
  const decoded = decode(path)
  return faces.find(face => owns(face, decoded))
}

/** The router takes `/%6dcp` for `/mcp`. A path that it refuses stays as it is. */
function decode(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch (error) {
    if (error instanceof URIError) return path
    throw error
  }
}

/** Throws if two faces claim one path, or if a route lies outside of its face. */
export function checkFaces(faces: readonly Face[]): void {
  for (const face of faces) {
    const stray = face.routes.find(({ path }) => !owns(face, path))
    if (stray !== undefined) throw new Error(`${stray.path} is not a path of the face ${face.name}`)
    const other = faces.find(each => each !== face && face.paths.some(path => owns(each, path)))
    if (other !== undefined) throw new Error(`the faces ${face.name} and ${other.name} claim the same path`)
  }
}

function owns({ paths }: Face, path: string): boolean {
  return paths.some(own => path === own || (own !== '/' && path.startsWith(`${own}/`)))
}

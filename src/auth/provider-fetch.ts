// Sends the broker's requests to an identity provider: over https (or plain http if the provider is on this machine),
// only to the given address, for at most 5 s and 1 MB. Callers must verify a response before they trust it.

import type { Clock } from '../base/clock.ts'
import { providerUriObjection } from '../settings/provider-uri.ts'

const TIMEOUT_MS = 5_000
const MOST_BYTES = 1024 * 1024

/** Statuses whose answer has no body (Fetch, section 2.2.6). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** The provider is away, slow, or sends a useless answer. Then the token cannot be checked, and it is not accepted. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable'
}

/** Like `fetch`, but resolves when the whole body has been read. A redirect is returned and not followed. */
export type ProviderFetch = (url: string, init?: RequestInit) => Promise<Response>

/**
 * Returns the fetch for the provider with this issuer, or with this address of its keys in the settings. It decides
 * whether plain http to this machine is allowed. The fetch throws ProviderUnavailable.
 */
export function createProviderFetch(issuer: string, clock: Clock): ProviderFetch {
  return async (url, init = {}) => {
    const objection = trustObjection(issuer, url)
    if (objection !== null) throw new ProviderUnavailable(`${url} ${objection}`)
    const late = new AbortController()
    const timer = clock.timer(TIMEOUT_MS, () =>
      late.abort(new ProviderUnavailable(`${url} has not answered within ${TIMEOUT_MS / 1000} s`)),
    )
    const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal
    try {
      const response = await fetch(url, { ...init, redirect: 'manual', signal })
      const body = await readBody(url, response)
      const { status, statusText, headers } = response
      return new Response(WITHOUT_BODY.has(status) ? null : body, { status, statusText, headers })
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error
      throw new ProviderUnavailable(`${url} cannot be reached: ${reasonOf(error)}`, { cause: error })
    } finally {
      timer.cancel()
    }
  }
}

/**
 * Fetches the JSON at an address. `what` names it in errors, such as `the keys`. Throws ProviderUnavailable if the
 * answer is not JSON.
 */
export async function fetchJson(fetch: ProviderFetch, uri: string, what: string): Promise<unknown> {
  const unusable = (why: string, cause?: unknown) =>
    new ProviderUnavailable(`${what} at ${uri} cannot be used: ${why}`, { cause })
  const response = await fetch(uri, { headers: { accept: 'application/json, application/jwk-set+json' } })
  if (response.status !== 200) throw unusable(`the status is ${response.status}`)
  const contentType = response.headers.get('content-type') ?? ''
  if (!/^application\/(jwk-set\+)?json\s*(;|$)/i.test(contentType)) throw unusable('the content type is not JSON')
  try {
    return JSON.parse(await response.text())
  } catch (cause) {
    throw unusable('the content is not JSON', cause)
  }
}

/**
 * Returns why the broker must not fetch an address that this issuer names, or send a browser there; null if it may.
 * The text completes a sentence that begins with the address.
 */
export function trustObjection(issuer: string, url: string): string | null {
  const objection = providerUriObjection(url)
  if (objection !== null) return objection
  return url.startsWith('https:') || issuer.startsWith('http:')
    ? null
    : 'is plain http, which only a provider on this machine may name'
}

async function readBody(url: string, response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw new ProviderUnavailable(`${url} answers more than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

/** Returns the reason of a failure: fetch itself only reports "fetch failed" and has the reason as its cause. */
function reasonOf(error: unknown): string {
  const cause = (error as Error).cause ?? error
  return (cause as NodeJS.ErrnoException).code ?? (cause as Error).message
}

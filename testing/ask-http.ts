// Sends requests to the admin API and fails if the status is not the expected one.

import assert from 'node:assert/strict'
import { adminClient } from './admin-client.ts'

/** Resolves with the body; null if there is no body. The default method is GET without a body and POST with a body. */
export type AskHttp = <T = Readonly<Record<string, unknown>>>(
  path: string,
  status?: number,
  options?: { readonly method?: 'PUT' | 'DELETE'; readonly body?: unknown },
) => Promise<T>

export function askHttp(url: string): AskHttp {
  const client = adminClient(url)
  return async <T>(path: string, status = 200, { method, body }: { method?: string; body?: unknown } = {}) => {
    const answer = await client.ask(method ?? (body === undefined ? 'GET' : 'POST'), path, body)
    assert.equal(answer.status, status, `${path}: ${JSON.stringify(answer.body)}`)
    return answer.body as T
  }
}

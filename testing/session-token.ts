// A session as anybody could write it who knows a secret: what a broker must refuse is more than what it makes itself.

import { createHmac } from 'node:crypto'

const DIGESTS = { HS256: 'sha256', HS512: 'sha512', none: null } as const

/** A JWT with these claims, signed by the algorithm that its header names; `none` signs nothing. */
export function sessionToken(
  claims: Readonly<Record<string, unknown>>,
  { secret, alg = 'HS256' }: { readonly secret: string; readonly alg?: keyof typeof DIGESTS },
): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  const digest = DIGESTS[alg]
  return `${signed}.${digest === null ? '' : createHmac(digest, secret).update(signed).digest('base64url')}`
}

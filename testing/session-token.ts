// Makes a session token, as anyone who knows the secret could write it. A broker must refuse tokens that it never
// makes.

import { createHmac } from 'node:crypto'

const DIGESTS = { HS256: 'sha256', HS512: 'sha512', none: null } as const

/** Returns a JWT with these claims, signed with the algorithm in its header; `none` leaves it unsigned. */
export function sessionToken(
  claims: Readonly<Record<string, unknown>>,
  { secret, alg = 'HS256' }: { readonly secret: string; readonly alg?: keyof typeof DIGESTS },
): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  const digest = DIGESTS[alg]
  return `${signed}.${digest === null ? '' : createHmac(digest, secret).update(signed).digest('base64url')}`
}

// The ways in which a client of the tests comes in: a kind of listener, and how the client secures its connection
// there. The specification allows PLAIN and OAUTHBEARER over TLS only.

import type { ListenerSecurity } from '../../src/settings/settings.ts'
import type { Certificate } from '../../testing/certificate.ts'
import { type ClientSecurity, type Mechanism, NO_SECURITY, type TicketLogin, type TokenLogin } from './security.ts'

/** A kind of listener; `mtls` is `tls` where the broker demands a certificate of each client. */
export type Door = ListenerSecurity | 'mtls'

export interface Way {
  /** Such as `SCRAM-SHA-256 over sasl-tls`, or the door alone. */
  readonly name: string
  readonly door: Door
  readonly mechanism: Mechanism | null
  readonly security: ClientSecurity
  /** The same with a login that the broker refuses; null if there is no login, or if another server refuses it. */
  readonly wrong: ClientSecurity | null
}

/** The files and logins of the clients. `stranger` has tokens that are not for this broker. */
export interface Logins {
  readonly caFile: string
  readonly certificate: Certificate
  readonly scram: { readonly username: string; readonly password: string }
  readonly plain: { readonly username: string; readonly password: string }
  readonly token: { readonly right: TokenLogin; readonly stranger: TokenLogin }
  readonly ticket: TicketLogin | null
}

/** Returns every way; without a ticket those without GSSAPI. */
export function waysIn({ caFile, certificate, scram, plain, token, ticket }: Logins): readonly Way[] {
  const tls = { caFile, own: null }
  const withoutLogin = (door: Door, security: ClientSecurity): Way => ({
    ...{ name: door, door, security },
    ...{ mechanism: null, wrong: null },
  })
  const withLogin = (
    door: 'sasl-plaintext' | 'sasl-tls',
    login: NonNullable<ClientSecurity['sasl']>,
    wrong: ClientSecurity['sasl'],
  ): Way => {
    const secured = { tls: door === 'sasl-tls' ? tls : null }
    return {
      name: `${login.mechanism} over ${door}`,
      door,
      mechanism: login.mechanism,
      security: { ...secured, sasl: login },
      wrong: wrong && { ...secured, sasl: wrong },
    }
  }
  const scramLogin = { mechanism: 'SCRAM-SHA-256', ...scram } as const
  const plainLogin = { mechanism: 'PLAIN', ...plain } as const
  const password = `not ${scram.password}`
  return [
    withoutLogin('plaintext', NO_SECURITY),
    withoutLogin('tls', { tls, sasl: null }),
    withoutLogin('mtls', { tls: { caFile, own: certificate }, sasl: null }),
    withLogin('sasl-plaintext', scramLogin, { ...scramLogin, password }),
    withLogin('sasl-tls', scramLogin, { ...scramLogin, password }),
    withLogin('sasl-tls', plainLogin, { ...plainLogin, password }),
    withLogin('sasl-tls', token.right, token.stranger),
    // The KDC refuses a client with a wrong key, so the broker never sees it.
    ...(ticket === null ? [] : (['sasl-plaintext', 'sasl-tls'] as const).map(door => withLogin(door, ticket, null))),
  ]
}

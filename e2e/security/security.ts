// How a client of the tests secures its connections, in the words of the tests. Each client translates these values
// into its own settings: librdkafka.ts, ../java/security.ts, and the client files of the other folders.

export const MECHANISMS = ['SCRAM-SHA-256', 'PLAIN', 'OAUTHBEARER', 'GSSAPI'] as const
export type Mechanism = (typeof MECHANISMS)[number]

/** The paths of PEM files. The key is not encrypted. */
export interface ClientTls {
  /** The certificates that the client trusts. */
  readonly caFile: string
  /** The certificate that the client shows, and its key; null if it shows none. */
  readonly own: { readonly certificateFile: string; readonly keyFile: string } | null
}

export interface PasswordLogin {
  readonly mechanism: 'SCRAM-SHA-256' | 'PLAIN'
  readonly username: string
  readonly password: string
}

/** The client gets its tokens by the grant `client_credentials` (RFC 6749, section 4.4). */
export interface TokenLogin {
  readonly mechanism: 'OAUTHBEARER'
  readonly tokenEndpoint: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scope: string
}

export interface TicketLogin {
  readonly mechanism: 'GSSAPI'
  readonly serviceName: string
  /** The path of the client's krb5.conf. */
  readonly krb5Conf: string
  readonly principal: string
  /** The path of the keytab that has the principal's key. */
  readonly keytab: string
}

export interface ClientSecurity {
  /** null: the connection is not encrypted. */
  readonly tls: ClientTls | null
  /** null: the client does not log in. */
  readonly sasl: PasswordLogin | TokenLogin | TicketLogin | null
}

export const NO_SECURITY: ClientSecurity = { tls: null, sasl: null }

/** Returns the value of `security.protocol` of Kafka's Java clients. */
export function protocolOf({ tls, sasl }: ClientSecurity): 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL' {
  return `${sasl === null ? '' : 'SASL_'}${tls === null ? 'PLAINTEXT' : 'SSL'}`
}

/** Fetches a token for a client that has no code of its own for that. Throws if the provider issues none. */
export async function fetchToken({ tokenEndpoint, clientId, clientSecret, scope }: TokenLogin): Promise<string> {
  const basic = [clientId, clientSecret].map(encodeURIComponent).join(':')
  const response = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(basic).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope }),
  })
  const answer = (await response.json()) as { access_token: string; error?: string }
  if (!response.ok) throw new Error(`${tokenEndpoint} answered ${response.status}: ${answer.error}`)
  return answer.access_token
}

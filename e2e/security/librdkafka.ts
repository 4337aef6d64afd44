// The security of a client in librdkafka's settings (its CONFIGURATION.md), for the clients and the suite that are
// built on it.

import { type ClientSecurity, protocolOf } from './security.ts'

type Settings = Readonly<Record<string, string>>

export function librdkafkaSettings(security: ClientSecurity): Settings {
  const { tls } = security
  return {
    'security.protocol': protocolOf(security).toLowerCase(),
    ...(tls !== null && { 'ssl.ca.location': tls.caFile }),
    ...(tls?.own && {
      'ssl.certificate.location': tls.own.certificateFile,
      'ssl.key.location': tls.own.keyFile,
    }),
    ...saslSettings(security.sasl),
  }
}

function saslSettings(sasl: ClientSecurity['sasl']): Settings {
  if (sasl === null) return {}
  const mechanism = { 'sasl.mechanisms': sasl.mechanism }
  switch (sasl.mechanism) {
    case 'SCRAM-SHA-256':
    case 'PLAIN':
      return { ...mechanism, 'sasl.username': sasl.username, 'sasl.password': sasl.password }
    case 'OAUTHBEARER':
      return {
        ...mechanism,
        'sasl.oauthbearer.method': 'oidc',
        'sasl.oauthbearer.token.endpoint.url': sasl.tokenEndpoint,
        'sasl.oauthbearer.client.id': sasl.clientId,
        'sasl.oauthbearer.client.secret': sasl.clientSecret,
        'sasl.oauthbearer.scope': sasl.scope,
      }
    case 'GSSAPI':
      return {
        ...mechanism,
        'sasl.kerberos.service.name': sasl.serviceName,
        'sasl.kerberos.principal': sasl.principal,
        'sasl.kerberos.keytab': sasl.keytab,
      }
  }
}

/**
 * Returns the environment of a process with librdkafka. librdkafka runs kinit, which writes the ticket beside the
 * keytab instead of the user's default place.
 */
export function librdkafkaEnvironment({ sasl }: ClientSecurity): Settings {
  return sasl?.mechanism === 'GSSAPI' ? { KRB5_CONFIG: sasl.krb5Conf, KRB5CCNAME: `FILE:${sasl.keytab}.tickets` } : {}
}

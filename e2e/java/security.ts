// The security of a client in the settings of Kafka's Java clients, and the flags of a JVM that these settings need.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ClientSecurity, protocolOf } from '../security/security.ts'

type Properties = Readonly<Record<string, string>>

/** The flags of the JVM. Since Kafka 4.0 a client asks only the listed URLs for tokens. */
export function securityFlags({ sasl }: ClientSecurity): readonly string[] {
  switch (sasl?.mechanism) {
    case 'OAUTHBEARER':
      return [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${sasl.tokenEndpoint}`]
    case 'GSSAPI':
      return [`-Djava.security.krb5.conf=${sasl.krb5Conf}`]
    default:
      return []
  }
}

/** Writes the client's properties into a file for the time of `use`, and passes the path of the file. */
export async function withPropertiesFile<T>(security: ClientSecurity, use: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'ketch-java-'))
  try {
    const file = join(folder, 'client.properties')
    const lines = Object.entries(await securityProperties(security)).map(
      ([name, value]) => `${name}=${escaped(value)}\n`,
    )
    await writeFile(file, lines.join(''))
    return await use(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Escapes a value for java.util.Properties.load. */
const escaped = (value: string) => value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

async function securityProperties(security: ClientSecurity): Promise<Properties> {
  const { tls, sasl } = security
  return {
    'security.protocol': protocolOf(security),
    ...(tls !== null && { 'ssl.truststore.type': 'PEM', 'ssl.truststore.location': tls.caFile }),
    ...(tls?.own && {
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.certificate.chain': await readFile(tls.own.certificateFile, 'utf8'),
      'ssl.keystore.key': await readFile(tls.own.keyFile, 'utf8'),
    }),
    ...(sasl !== null && { 'sasl.mechanism': sasl.mechanism, ...saslProperties(sasl) }),
  }
}

function saslProperties(sasl: NonNullable<ClientSecurity['sasl']>): Properties {
  switch (sasl.mechanism) {
    case 'SCRAM-SHA-256':
      return login('org.apache.kafka.common.security.scram.ScramLoginModule', passwordOptions(sasl))
    case 'PLAIN':
      return login('org.apache.kafka.common.security.plain.PlainLoginModule', passwordOptions(sasl))
    case 'OAUTHBEARER': {
      const { clientId, clientSecret, scope } = sasl
      return {
        ...login('org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule', {
          clientId,
          clientSecret,
          scope,
        }),
        'sasl.oauthbearer.token.endpoint.url': sasl.tokenEndpoint,
        'sasl.login.callback.handler.class':
          'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler',
      }
    }
    case 'GSSAPI': {
      const { principal, keytab: keyTab } = sasl
      const options = { useKeyTab: 'true', storeKey: 'true', keyTab, principal }
      return {
        ...login('com.sun.security.auth.module.Krb5LoginModule', options),
        'sasl.kerberos.service.name': sasl.serviceName,
      }
    }
  }
}

const passwordOptions = ({ username, password }: { username: string; password: string }) => ({ username, password })

/** Returns a JAAS entry, in which a value stands in double quotes with backslashes escaped. */
function login(module: string, options: Properties): Properties {
  const pairs = Object.entries(options).map(([name, value]) => ` ${name}="${value.replace(/[\\"]/g, '\\$&')}"`)
  return { 'sasl.jaas.config': `${module} required${pairs.join('')};` }
}

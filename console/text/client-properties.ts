// The settings of Kafka clients as files: a Java properties file, and the file of librdkafka, which kcat reads too.
// With a password they are shown once, when a credential is made; without one they have a placeholder. The guide is
// docs/guides/securing.md.

export type Security = 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
export type Mechanism = 'SCRAM-SHA-256' | 'PLAIN' | 'OAUTHBEARER' | 'GSSAPI'

/** How a client reaches a listener. */
export interface ClientAccess {
  /** The advertised addresses, `host:port`, separated by commas. */
  readonly bootstrap: string
  readonly security: Security
  /** Null without SASL. */
  readonly mechanism: Mechanism | null
  /** Null: the file has a placeholder that the reader replaces. */
  readonly username?: string | null
  readonly password?: string | null
  /** The PEM file of the authority on the client's machine. */
  readonly caFile?: string
}

export interface SettingsFile {
  readonly name: string
  readonly content: string
}

/** The broker knows the file only by its content: the client has its own name for it. */
const CA_FILE = 'ca.pem'
const USER = '<user>'
const PASSWORD = '<password>'
export const TOKEN_ENDPOINT = '<token endpoint>'

const LOGIN_MODULES: Readonly<Record<Mechanism, string>> = {
  'SCRAM-SHA-256': 'org.apache.kafka.common.security.scram.ScramLoginModule',
  PLAIN: 'org.apache.kafka.common.security.plain.PlainLoginModule',
  OAUTHBEARER: 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule',
  GSSAPI: 'com.sun.security.auth.module.Krb5LoginModule',
}

type Pairs = readonly (readonly [name: string, value: string])[]

/** Returns whether a client needs more settings than the address. */
export function needsSettings({ security }: Pick<ClientAccess, 'security'>): boolean {
  return security !== 'PLAINTEXT'
}

/**
 * Returns the properties of Java clients and of Kafka's tools. With `withBootstrap`, a program needs no other file;
 * the tools take the address as an option.
 */
export function javaProperties(access: ClientAccess, withBootstrap = true): SettingsFile {
  const { bootstrap, security, mechanism, caFile = CA_FILE } = access
  const pairs: (readonly [string, string])[] = []
  if (withBootstrap) pairs.push(['bootstrap.servers', bootstrap])
  pairs.push(['security.protocol', security])
  if (hasTls(security)) pairs.push(['ssl.truststore.type', 'PEM'], ['ssl.truststore.location', caFile])
  if (hasSasl(security) && mechanism !== null)
    pairs.push(['sasl.mechanism', mechanism], ...javaLogin(access, mechanism))
  return { name: 'client.properties', content: pairs.map(pair => `${javaLine(...pair)}\n`).join('') }
}

/** Returns the settings of librdkafka: Python, Go, .NET, C++ and kcat (`-F`). */
export function librdkafkaProperties(access: ClientAccess, withBootstrap = true): SettingsFile {
  const { bootstrap, security, mechanism, caFile = CA_FILE } = access
  const pairs: (readonly [string, string])[] = []
  if (withBootstrap) pairs.push(['bootstrap.servers', bootstrap])
  pairs.push(['security.protocol', security.toLowerCase()])
  if (hasTls(security)) pairs.push(['ssl.ca.location', caFile])
  if (hasSasl(security) && mechanism !== null)
    pairs.push(['sasl.mechanisms', mechanism], ...librdkafkaLogin(access, mechanism))
  return { name: 'client.conf', content: pairs.map(([name, value]) => `${name}=${value}\n`).join('') }
}

/**
 * Returns the reason why a text cannot stand in a file of librdkafka, or null. kcat cuts white space off both ends of
 * a line, and has no way to write a line end.
 */
export function librdkafkaTrouble(value: string): string | null {
  if (/[\r\n\0]/.test(value)) return 'The file of librdkafka cannot hold a line end or a NUL character.'
  if (value !== value.trim()) return 'kcat cuts off white space at the ends of a setting.'
  return null
}

function javaLogin({ username, password }: ClientAccess, mechanism: Mechanism): Pairs {
  const options: Pairs =
    mechanism === 'OAUTHBEARER'
      ? [
          ['clientId', '<client id>'],
          ['clientSecret', '<client secret>'],
        ]
      : mechanism === 'GSSAPI'
        ? [['useTicketCache', 'true']]
        : [
            ['username', username ?? USER],
            ['password', password ?? PASSWORD],
          ]
  const written = options.map(([name, value]) => ` ${name}=${jaasText(value)}`).join('')
  const config: Pairs = [['sasl.jaas.config', `${LOGIN_MODULES[mechanism]} required${written};`]]
  if (mechanism === 'GSSAPI') return [['sasl.kerberos.service.name', 'kafka'], ...config]
  if (mechanism !== 'OAUTHBEARER') return config
  return [
    ['sasl.oauthbearer.token.endpoint.url', TOKEN_ENDPOINT],
    [
      'sasl.login.callback.handler.class',
      'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler',
    ],
    ...config,
  ]
}

function librdkafkaLogin({ username, password }: ClientAccess, mechanism: Mechanism): Pairs {
  if (mechanism === 'OAUTHBEARER')
    return [
      ['sasl.oauthbearer.method', 'oidc'],
      ['sasl.oauthbearer.client.id', '<client id>'],
      ['sasl.oauthbearer.client.secret', '<client secret>'],
      ['sasl.oauthbearer.token.endpoint.url', TOKEN_ENDPOINT],
    ]
  if (mechanism === 'GSSAPI')
    return [
      ['sasl.kerberos.service.name', 'kafka'],
      ['sasl.kerberos.kinit.cmd', 'true'],
    ]
  return [
    ['sasl.username', username ?? USER],
    ['sasl.password', password ?? PASSWORD],
  ]
}

/** Writes a value as a quoted text of JAAS, which Kafka reads with a StreamTokenizer: C escapes up to \\377. */
function jaasText(value: string): string {
  const escaped = value.replace(/["\\]/g, '\\$&').replace(/\p{Cc}/gu, octal)
  return `"${escaped}"`
}

/** Three digits, because a digit may follow. */
function octal(character: string): string {
  return `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`
}

/** Writes a line of a properties file (java.util.Properties). Everything but ASCII is escaped: Java reads Latin-1. */
function javaLine(name: string, value: string): string {
  const escaped = value
    .replace(/\\/g, '\\\\')
    .replace(/^ /, '\\ ')
    .replace(/[^\x20-\x7e]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  return `${name}=${escaped}`
}

export function hasTls(security: Security): boolean {
  return security === 'SSL' || security === 'SASL_SSL'
}

export function hasSasl(security: Security): boolean {
  return security === 'SASL_PLAINTEXT' || security === 'SASL_SSL'
}

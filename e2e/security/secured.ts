// Brokers with every kind of listener and every mechanism, and all that clients need to log in to them: an authority,
// an OAuth provider, a KDC where this machine has one, and credentials.

import assert from 'node:assert/strict'
import { adminClient } from '../../testing/admin-client.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { makeAuthority } from '../../testing/certificate.ts'
import { noKdc, startKdc } from '../../testing/kdc.ts'
import { type BrokerProcess, freePort, startBrokerProcess } from '../../testing/process.ts'
import { type OauthProvider, startOauthProvider } from '../oauth/provider.ts'
import { type Door, type Way, waysIn } from './cases.ts'
import { MECHANISMS, type Mechanism } from './security.ts'

type Settings = Readonly<Record<string, string>>

export interface SecuredBroker {
  readonly process: BrokerProcess
  /** The value of `bootstrap.servers` for this door, with the name in the certificate and the Kerberos service. */
  address(door: Door): string
  /** The port of the listener without security, for the test itself. */
  readonly plaintext: { readonly port: number }
}

export interface Secured {
  /** The ways in that this machine can test. */
  readonly ways: readonly Way[]
  /** Returns the brokers that have this door, which the first call starts. They are on one store. */
  brokersAt(door: Door): Promise<readonly SecuredBroker[]>
}

const SCRAM = { username: 'alice', password: 'the password of alice' }
const PLAIN = { username: 'bob', password: 'the password of bob' }

/**
 * Prepares brokers of three kinds, because PLAIN and OAUTHBEARER need TLS on every listener with SASL, and because a
 * demand for certificates holds for every TLS listener. Each kind has `count` brokers and a store of its own. They
 * start when a test needs them.
 */
export async function startSecured(
  cleanUp: CleanUp,
  count: number,
  newStore: () => Promise<Settings>,
): Promise<Secured> {
  const clients = { carol: {} }
  const [authority, provider, strangers] = await Promise.all([
    makeAuthority(cleanUp),
    startOauthProvider(cleanUp, { clients }),
    startOauthProvider(cleanUp, { clients }),
  ])
  const kdc = noKdc === false ? await startKdc(cleanUp) : null
  const service = kdc?.addPrincipal('kafka/localhost')
  const { certificateFile, keyFile } = authority.issue({ subject: '/CN=localhost', usage: 'serverAuth' })
  const settingsOf = (...mechanisms: readonly Mechanism[]) => ({
    'svc.broker.sasl.enabled': 'true',
    'svc.broker.sasl.mechanisms': mechanisms.filter(each => each !== 'GSSAPI' || kdc !== null).join(),
    ...(kdc !== null && {
      'svc.broker.sasl.gssapi.keytab-file': service!,
      'svc.broker.sasl.gssapi.principal': `kafka/localhost@${kdc.realm}`,
    }),
  })
  const tls = {
    'svc.broker.tls': 'true',
    'svc.broker.cert-file': certificateFile,
    'svc.broker.key-file': keyFile,
  }
  const kinds: readonly { readonly doors: readonly [Door, ...Door[]]; readonly settings: Settings }[] = [
    { doors: ['sasl-plaintext', 'plaintext'], settings: settingsOf('SCRAM-SHA-256', 'GSSAPI') },
    {
      doors: ['sasl-tls', 'tls'],
      settings: {
        ...settingsOf(...MECHANISMS),
        ...tls,
        'svc.broker.sasl.oauth.issuer-uri': provider.issuer,
        'svc.broker.sasl.oauth.audience': provider.audience,
      },
    },
    {
      doors: ['mtls'],
      settings: {
        ...tls,
        'svc.broker.client-auth-required': 'true',
        'svc.broker.trust-cert-file': authority.certificateFile,
      },
    },
  ]
  const started = new Map<(typeof kinds)[number], Promise<readonly SecuredBroker[]>>()
  const start = async ({ doors, settings }: (typeof kinds)[number]) => {
    const store = await newStore()
    const brokers: SecuredBroker[] = []
    for (let id = 0; id < count; id++)
      brokers.push(await startAt(cleanUp, doors, { ...settings, ...store, 'svc.broker.id': String(id) }))
    await storeCredentials(brokers[0]!.process)
    return brokers
  }
  const tokenLogin = ({ tokenUri, clients: issued }: OauthProvider) =>
    ({
      mechanism: 'OAUTHBEARER',
      tokenEndpoint: tokenUri,
      clientId: 'carol',
      clientSecret: issued.get('carol')!.secret,
      scope: 'kafka',
    }) as const
  return {
    brokersAt(wanted) {
      const kind = kinds.find(({ doors }) => doors.includes(wanted))!
      if (!started.has(kind)) started.set(kind, start(kind))
      return started.get(kind)!
    },
    ways: waysIn({
      caFile: authority.certificateFile,
      certificate: authority.issue({ subject: '/O=Ketch/CN=alice' }),
      scram: SCRAM,
      plain: PLAIN,
      token: { right: tokenLogin(provider), stranger: tokenLogin(strangers) },
      ticket: kdc && {
        ...{ mechanism: 'GSSAPI', serviceName: 'kafka', krb5Conf: kdc.confFile },
        ...{ principal: `dave@${kdc.realm}`, keytab: kdc.addPrincipal('dave') },
      },
    }),
  }
}

async function storeCredentials({ url }: BrokerProcess): Promise<void> {
  for (const [mechanism, login] of [['SCRAM-SHA-256', SCRAM] as const, ['PLAIN', PLAIN] as const]) {
    const { status, body } = await adminClient(url).ask('POST', '/api/v1/credentials', { mechanism, ...login })
    assert.equal(status, 201, JSON.stringify(body))
  }
}

/** Starts a broker whose first listener is the first of these doors, and which has a listener without security too. */
async function startAt(
  cleanUp: CleanUp,
  doors: readonly [Door, ...Door[]],
  settings: Settings,
): Promise<SecuredBroker> {
  const ports = new Map<Door, number>()
  for (const door of new Set<Door>([...doors, 'plaintext'])) ports.set(door, await freePort())
  const [[, first], ...others] = [...ports] as [[Door, number], ...[Door, number][]]
  const listeners = others.map(([door, port], at) =>
    Object.entries({ name: `at-${door}`, port, 'advertised-host': 'localhost', security: door }).map(
      ([field, value]) => [`svc.broker.listeners[${at}].${field}`, String(value)],
    ),
  )
  const process = await startBrokerProcess(cleanUp, {
    port: first,
    settings: {
      'svc.broker.advertised-host': 'localhost',
      'svc.broker.rebalance-delay': '0ms',
      'svc.admin.security-enabled': 'false',
      ...settings,
      ...Object.fromEntries(listeners.flat()),
    },
  })
  return { process, address: door => `localhost:${ports.get(door)!}`, plaintext: { port: ports.get('plaintext')! } }
}

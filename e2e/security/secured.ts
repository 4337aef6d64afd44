// Brokers with every kind of listener and every mechanism, and all that clients need to log in to them: an authority,
// an OAuth provider, a KDC where this machine has one, and credentials.

import { strict as assert } from 'node:assert'
import { adminClient } from '../../testing/admin-client.ts'
import type { CleanUp } from '../../testing/broker.ts'
import { makeAuthority } from '../../testing/certificate.ts'
import { noKdc, startKdc } from '../../testing/kdc.ts'
import { type BrokerProcess, freePort, startBrokerProcess } from '../../testing/process.ts'
import { startOauthProvider } from '../oauth/provider.ts'
import { type Door, type Way, waysIn } from './cases.ts'
import { MECHANISMS } from './security.ts'

type Settings = Readonly<Record<string, string>>

export interface SecuredBroker {
  readonly process: BrokerProcess
  /** The value of `bootstrap.servers` for this door. The name is that of the certificate and of the Kerberos service. */
  address(door: Door): string
  /** The port of the listener without security, for the test itself. */
  readonly plaintext: { readonly port: number }
}

export interface SecuredCluster {
  /** The ways in that this machine can test. */
  readonly ways: readonly Way[]
  /** Brokers on one store. Their TLS listeners demand no certificate. */
  readonly brokers: readonly SecuredBroker[]
  /** Returns the broker for the door: one of `brokers`, or the broker that demands certificates. */
  brokerAt(door: Door, number: number): SecuredBroker
}

const SCRAM = { username: 'alice', password: 'the password of alice' }
const PLAIN = { username: 'bob', password: 'the password of bob' }

/** Starts `count` brokers on the store of the settings, and another one, on a store of its own, that demands certificates. */
export async function startSecured(cleanUp: CleanUp, count: number, store: Settings): Promise<SecuredCluster> {
  const clients = { carol: {} }
  const [authority, provider, strangers] = await Promise.all([
    makeAuthority(cleanUp),
    startOauthProvider(cleanUp, { clients }),
    startOauthProvider(cleanUp, { clients }),
  ])
  const kdc = noKdc === false ? await startKdc(cleanUp) : null
  const service = kdc?.addPrincipal('kafka/localhost')
  const { certificateFile, keyFile } = authority.issue({ subject: '/CN=localhost', usage: 'serverAuth' })
  const settings = {
    'svc.broker.advertised-host': 'localhost',
    'svc.broker.rebalance-delay': '0ms',
    'svc.admin.security-enabled': 'false',
    'svc.broker.tls': 'true',
    'svc.broker.cert-file': certificateFile,
    'svc.broker.key-file': keyFile,
  }
  const sasl = {
    'svc.broker.sasl.enabled': 'true',
    'svc.broker.sasl.mechanisms': MECHANISMS.filter(each => each !== 'GSSAPI' || kdc !== null).join(),
    'svc.broker.sasl.oauth.issuer-uri': provider.issuer,
    'svc.broker.sasl.oauth.audience': provider.audience,
    ...(kdc !== null && {
      'svc.broker.sasl.gssapi.keytab-file': service!,
      'svc.broker.sasl.gssapi.principal': `kafka/localhost@${kdc.realm}`,
    }),
  }
  const brokers: SecuredBroker[] = []
  for (let id = 0; id < count; id++) {
    const doors = ['sasl-tls', 'tls', 'sasl-plaintext', 'plaintext'] as const
    brokers.push(await startAt(cleanUp, doors, { ...settings, ...sasl, ...store, 'svc.broker.id': String(id) }))
  }
  const demanding = await startAt(cleanUp, ['mtls', 'plaintext'], {
    ...settings,
    'svc.broker.client-auth-required': 'true',
    'svc.broker.trust-cert-file': authority.certificateFile,
  })
  const admin = adminClient(brokers[0]!.process.url)
  for (const [mechanism, login] of [['SCRAM-SHA-256', SCRAM] as const, ['PLAIN', PLAIN] as const]) {
    const { status, body } = await admin.ask('POST', '/api/v1/credentials', { mechanism, ...login })
    assert.equal(status, 201, JSON.stringify(body))
  }
  const tokenLogin = ({ tokenUri, clients: issued }: typeof provider) =>
    ({
      mechanism: 'OAUTHBEARER',
      tokenEndpoint: tokenUri,
      clientId: 'carol',
      clientSecret: issued.get('carol')!.secret,
      scope: 'kafka',
    }) as const
  return {
    brokers,
    brokerAt: (door, number) => (door === 'mtls' ? demanding : brokers[number]!),
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

/** Starts a broker whose first listener is the first of these doors. */
async function startAt(cleanUp: CleanUp, doors: readonly Door[], settings: Settings): Promise<SecuredBroker> {
  const ports = new Map<Door, number>()
  for (const door of doors) ports.set(door, await freePort())
  const [[, first], ...others] = [...ports] as [[Door, number], ...[Door, number][]]
  const listeners = others.map(([door, port], at) =>
    Object.entries({ name: door.toUpperCase(), port, 'advertised-host': 'localhost', security: door }).map(
      ([field, value]) => [`svc.broker.listeners[${at}].${field}`, String(value)],
    ),
  )
  const process = await startBrokerProcess(cleanUp, {
    port: first,
    settings: { ...settings, ...Object.fromEntries(listeners.flat()) },
  })
  return { process, address: door => `localhost:${ports.get(door)!}`, plaintext: { port: ports.get('plaintext')! } }
}

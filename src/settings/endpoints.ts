// The endpoints for Kafka clients: the addresses that are bound, and the addresses that clients are told, which may
// differ.

import { fullKey, type ListenerSecurity, type Settings } from './settings.ts'

/**
 * One listener of the settings: the first from `broker.host` and its neighbours, the others from `broker.listeners`.
 */
export interface KafkaEndpoint {
  readonly name: string
  /** The address to bind. */
  readonly host: string
  /** The port to bind; 0 is any free port. */
  readonly port: number
  readonly advertisedHost: string
  /** Null means the bound port. */
  readonly advertisedPort: number | null
  readonly security: ListenerSecurity
  /** The settings that chose the security, with their values. */
  readonly securedBy: string
  /** The full key of the field, and the origin of its value. */
  readonly key: (field: EndpointField) => string
  readonly origin: (field: EndpointField) => string
}

type EndpointField = 'host' | 'port' | 'advertised-host' | 'advertised-port'

/** The name of the first listener, which is not in broker.listeners: Kafka's name for one without TLS and SASL. */
export const FIRST_LISTENER = 'PLAINTEXT'

/** Addresses that mean "every interface"; no client can connect to them. */
const EVERY_INTERFACE: ReadonlySet<string> = new Set(['0.0.0.0', '::', '0:0:0:0:0:0:0:0'])

/** Returns every listener, the first one first. */
export function kafkaEndpoints(settings: Settings): readonly KafkaEndpoint[] {
  const host = settings.get('broker.host')
  const common: ListenerSecurity = `${settings.get('broker.sasl.enabled') ? 'sasl-' : ''}${settings.get('broker.tls') ? 'tls' : 'plaintext'}`
  const switches = (['broker.tls', 'broker.sasl.enabled'] as const).map(key => `${fullKey(key)}=${settings.get(key)}`)
  const first: KafkaEndpoint = {
    name: FIRST_LISTENER,
    host,
    port: settings.get('broker.port'),
    advertisedHost: settings.get('broker.advertised-host') ?? reachable(host),
    advertisedPort: settings.get('broker.advertised-port'),
    security: common,
    securedBy: switches.join(', '),
    key: field => fullKey(`broker.${field}`),
    origin: field => settings.origin(`broker.${field}`),
  }
  const others = settings.get('broker.listeners').map((listener, at): KafkaEndpoint => {
    const bound = listener.host ?? host
    return {
      name: listener.name,
      host: bound,
      port: listener.port,
      advertisedHost: listener.advertisedHost ?? reachable(bound),
      advertisedPort: listener.advertisedPort,
      security: listener.security ?? common,
      securedBy:
        listener.security === null
          ? switches.join(', ')
          : `${fullKey('broker.listeners')}[${at}].security=${listener.security}`,
      key: field => `${fullKey('broker.listeners')}[${at}].${field}`,
      origin: field => settings.origin('broker.listeners', `[${at}].${field}`),
    }
  })
  return [first, ...others]
}

function reachable(host: string): string {
  return EVERY_INTERFACE.has(host) ? 'localhost' : host
}

export function usesTls(security: ListenerSecurity): boolean {
  return security === 'tls' || security === 'sasl-tls'
}

export function usesSasl(security: ListenerSecurity): boolean {
  return security === 'sasl-plaintext' || security === 'sasl-tls'
}

/** Returns whether any listener uses TLS. */
export function hasTlsListener(settings: Settings): boolean {
  return kafkaEndpoints(settings).some(({ security }) => usesTls(security))
}

/** Returns whether any listener uses SASL. */
export function hasSaslListener(settings: Settings): boolean {
  return kafkaEndpoints(settings).some(({ security }) => usesSasl(security))
}

/** Returns whether only this machine can reach the address. Null means every interface. */
export function isLoopback(host: string | null): boolean {
  if (host === null) return false
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Returns whether the address binds every interface. Null does. */
export function isEveryInterface(host: string | null): boolean {
  return host === null || EVERY_INTERFACE.has(host)
}

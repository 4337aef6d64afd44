// The ways for Kafka clients into the cluster: one for each name of a listener, with the advertised addresses of all
// brokers, the security, and the things that a client needs for it.

import type { KafkaListener } from '../../src/api/capabilities.ts'
import type { ClientAccess, Mechanism } from '../text/client-properties.ts'

export interface Way {
  /** The name of the listener, such as PLAINTEXT or EXTERNAL. */
  readonly name: string
  readonly access: ClientAccess
  /** True if a client must present a certificate. */
  readonly needsCertificate: boolean
}

/** Mechanisms that need only a name and a password come first: a credential for them is made in the console. */
const PREFERRED: readonly string[] = ['SCRAM-SHA-256', 'PLAIN', 'OAUTHBEARER', 'GSSAPI']

/** Returns the ways, each with another name: those that need no settings first, then in the order of the listeners. */
export function waysOf(listeners: readonly KafkaListener[]): readonly Way[] {
  const byName = Map.groupBy(listeners, ({ name }) => name)
  const ways = Array.from(byName, ([name, same]) => {
    // The broker that answers comes first, and it alone tells its mechanisms.
    const [{ security, mechanisms }] = same as [KafkaListener]
    const mechanism = PREFERRED.find(each => mechanisms.includes(each)) as Mechanism | undefined
    return {
      name,
      access: { bootstrap: same.map(addressOf).join(','), security, mechanism: mechanism ?? null },
      needsCertificate: same.some(({ needsCertificate }) => needsCertificate === true),
    }
  })
  const isPlain = ({ access }: Way) => access.security === 'PLAINTEXT'
  return [...ways.filter(isPlain), ...ways.filter(way => !isPlain(way))]
}

/** Only an IPv6 address has colons, and needs brackets. */
function addressOf({ host, port }: KafkaListener): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

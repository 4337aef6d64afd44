// How clients and commands reach a broker, of what the broker says about its listeners.

import type { Capabilities, KafkaListener } from '../../src/api/capabilities.ts'
import type { Mechanism } from './client-properties.ts'
import type { CommandAccess } from './commands.ts'

const MECHANISMS: readonly Mechanism[] = ['SCRAM-SHA-256', 'PLAIN', 'OAUTHBEARER', 'GSSAPI']

/**
 * Returns the access through the listeners of one name: those of the answering broker and the others of that name. A
 * listener that needs the fewest settings comes first.
 */
export function accessOf(
  { brokerId, listeners }: Pick<Capabilities, 'brokerId' | 'listeners'>,
  url: string,
  apiUser: string | null,
): CommandAccess | null {
  const own = listeners.filter(each => each.brokerId === brokerId)
  const chosen = own.find(({ security }) => security === 'PLAINTEXT') ?? own[0]
  if (chosen === undefined) return null
  const { name, security, mechanisms } = chosen
  const bootstrap = listeners.filter(each => each.name === name).map(addressOf)
  const mechanism = MECHANISMS.find(each => mechanisms.includes(each)) ?? null
  return { bootstrap: bootstrap.join(','), security, mechanism, url, apiUser }
}

function addressOf({ host, port }: KafkaListener): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

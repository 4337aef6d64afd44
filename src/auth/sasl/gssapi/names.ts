// Principals of Kerberos: how they are written (`primary/instance@REALM`), and the short name by which the broker knows
// a client (specification, GSSAPI). There is no `auth_to_local`: the rule is Kafka's DEFAULT, which maps principals of
// the broker's realm to their first component and refuses all others.

import { quoted, Refused } from './refused.ts'

/** A principal. Two principals are the same if realm and components are (RFC 4120, section 6.2). */
export interface Principal {
  readonly components: readonly string[]
  readonly realm: string
}

/** Returns `primary/instance@REALM`. */
export function nameOf({ components, realm }: Principal): string {
  return `${components.join('/')}@${realm}`
}

export function isSame(one: Principal, other: Principal): boolean {
  return (
    one.realm === other.realm &&
    one.components.length === other.components.length &&
    one.components.every((component, at) => component === other.components[at])
  )
}

/**
 * Returns the principal that the text names; its realm is '' if the text has none. Returns null for a text that is no
 * principal. Quoted characters (`\/`) are not read, because no name of a host or of a service needs them.
 */
export function parsePrincipal(text: string): Principal | null {
  const [, name, realm = ''] = /^([^@\\\s]+)(?:@([^@/\\\s]+))?$/.exec(text) ?? []
  if (name === undefined) return null
  const components = name.split('/')
  return components.includes('') ? null : { components, realm }
}

/** Control and format characters and the like: a name with them looks like another one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/u
/** The longest name, as for console users. */
const MOST_CHARACTERS = 128

/**
 * Returns the name that ACL rules use for a client: the first component of its principal. Throws Refused for a client
 * of another realm, because `admin@OTHER` is not `admin`, and for a name that no rule can mean.
 */
export function shortNameOf(client: Principal, realm: string): string {
  if (client.realm !== realm)
    throw new Refused(
      `only clients of the broker's realm ${realm} are accepted, and this one is of ${quoted(client.realm)}`,
    )
  const [primary = ''] = client.components
  if (primary === 'WELLKNOWN')
    throw new Refused('anonymous and other well-known principals are not accepted (RFC 6111)')
  if (primary === '') throw new Refused('the first component of the name is empty')
  if (/[:/@\\]/.test(primary)) throw new Refused("the first component of the name holds ':', '/', '@' or a backslash")
  if (UNSEEN.test(primary)) throw new Refused('the first component of the name holds a character that cannot be seen')
  if ([...primary].length > MOST_CHARACTERS) throw new Refused(`the name is longer than ${MOST_CHARACTERS} characters`)
  return primary
}

/**
 * Returns whether a client may ask to act as this identity (RFC 4752, section 3.3): as itself, in each form in which
 * clients write their own name. Java's client sends the whole principal; Cyrus SASL sends what its user configured.
 */
export function isOwnIdentity(identity: string, client: Principal): boolean {
  const whole = nameOf(client)
  return ['', whole, client.components.join('/'), client.components[0]].includes(identity)
}

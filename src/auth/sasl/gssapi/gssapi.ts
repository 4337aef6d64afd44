// The SASL mechanism GSSAPI with Kerberos V5 (RFC 4752): opens it from the settings, and takes a client through it.
// Only the quality of protection `auth` is offered (specification, GSSAPI): after the exchange, bytes go as the
// listener sends them. The broker never talks to a KDC. acceptor.ts decides about the first token.
//
//   client: AP-REQ ── asks for an AP-REP ──> broker: AP-REP ──> client: empty ──┐
//             └───── does not ask (Java) ───────────────────────────────────────┴> broker: wrap(01 000000)
//   client: wrap(01 xxxxxx identity) ──> success

import { stat } from 'node:fs/promises'
import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { fullKey, type Settings, SettingsError } from '../../../settings/settings.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { SaslExchange, SaslMechanism, Step } from '../mechanism.ts'
import { type AcceptorRooms, accept, type Context, SKEW_MS } from './acceptor.ts'
import { malformed } from './der.ts'
import { KeytabError } from './keytab.ts'
import { type Krb5Conf, Krb5ConfError, readKrb5Conf } from './krb5-conf.ts'
import { isOwnIdentity, nameOf, type Principal, parsePrincipal } from './names.ts'
import { quoted, Refused } from './refused.ts'
import { createReplayCache } from './replay-cache.ts'
import { openServiceKeys } from './service-keys.ts'
import { unwrap, wrap } from './wrap.ts'

export interface GssapiRooms {
  readonly settings: Settings
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

const KRB5_CONF = '/etc/krb5.conf'

/** The security layer "none", as a bit of the offer and as the answer (RFC 4752, section 3.3). */
const NO_LAYER = 0x01
/** The offer: no layer, and therefore no size of a buffer. */
const OFFER = Buffer.from([NO_LAYER, 0, 0, 0])

const NOT_ACCEPTED = 'Authentication failed: the broker does not accept the Kerberos credentials'
const ONLY_AUTH = "Authentication failed: the broker supports only the quality of protection 'auth'"

/**
 * Resolves with the mechanism. Throws SettingsError if the keytab, the principal or krb5.conf cannot be used; its
 * message names the setting and the file. `krb5Conf` is the path of krb5.conf.
 */
export async function openGssapi(
  { settings, clock, random, logger }: GssapiRooms,
  krb5Conf = KRB5_CONF,
): Promise<SaslMechanism> {
  const log = logger.named('auth.gssapi')
  const conf = await readConf(krb5Conf)
  const service = readService(settings, conf, krb5Conf)
  const permits = (enctype: number) => conf?.permitted?.has(enctype) ?? true
  const path = settings.get('broker.sasl.gssapi.keytab-file')!
  try {
    const keys = await openServiceKeys(path, service, permits, { clock, logger: log })
    const { mode } = await stat(path)
    if ((mode & 0o007) !== 0)
      log.warn('every user of this machine can read or change the keytab; take these rights away (chmod o=)', { path })
    log.info('clients can authenticate with Kerberos', { principal: nameOf(service) })
    const rooms = { clock, random, service, keys, permits, replays: createReplayCache(SKEW_MS) }
    return { name: 'GSSAPI', begin: () => beginExchange(rooms) }
  } catch (error) {
    if (!(error instanceof KeytabError)) throw error
    throw new SettingsError(`${of(settings, 'keytab-file')} ${error.message}`, { cause: error })
  }
}

/** Returns the setting, the origin of its value and the value, for an error message. */
function of(settings: Settings, name: 'keytab-file' | 'principal' | 'service-name'): string {
  const key = `broker.sasl.gssapi.${name}` as const
  return `${fullKey(key)} (${settings.origin(key)}): ${settings.get(key)}`
}

async function readConf(path: string): Promise<Krb5Conf | null> {
  try {
    return await readKrb5Conf(path)
  } catch (error) {
    if (!(error instanceof Krb5ConfError)) throw error
    const message = `GSSAPI in ${fullKey('broker.sasl.mechanisms')} needs a valid krb5.conf: ${error.message}`
    throw new SettingsError(message, { cause: error })
  }
}

/** Returns the principal of the broker, with its realm. */
function readService(settings: Settings, conf: Krb5Conf | null, krb5Conf: string): Principal {
  const own = of(settings, 'principal')
  const name = settings.get('broker.sasl.gssapi.service-name')
  const found = parsePrincipal(settings.get('broker.sasl.gssapi.principal')!)
  if (found === null || found.components.length !== 2)
    throw new SettingsError(`${own} is not a principal of a service; takes ${name}/<host>@<REALM>`)
  if (found.components[0] !== name)
    throw new SettingsError(`${own} does not begin with '${name}/', as ${of(settings, 'service-name')} demands`)
  const realm = found.realm || conf?.defaultRealm
  if (!realm)
    throw new SettingsError(`${own} has no realm, and ${krb5Conf} has no default_realm; takes ${name}/<host>@<REALM>`)
  return { ...found, realm }
}

function beginExchange(rooms: AcceptorRooms): SaslExchange {
  let context: Context | null = null
  let isOffered = false

  const offer = ({ key, ownSequence }: Context): Step => {
    isOffered = true
    return { kind: 'continue', token: wrap(key, ownSequence, OFFER) }
  }

  const take = async (token: Buffer): Promise<Step> => {
    if (context === null) {
      context = await accept(token, rooms)
      return context.answer === null ? offer(context) : { kind: 'continue', token: context.answer }
    }
    if (isOffered) return finish(context, token)
    if (token.length > 0) throw malformed('after the AP-REP an empty token is expected')
    return offer(context)
  }

  return {
    async step(token) {
      try {
        return await take(Buffer.from(token.buffer, token.byteOffset, token.byteLength))
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        const claimed = error.claimed ?? (context && nameOf(context.client))
        return { kind: 'failure', message: NOT_ACCEPTED, why: error.message, claimed }
      }
    },
  }
}

/** Takes the client's answer to the offer: a layer, the size of its buffer, and the identity it asks for. */
function finish({ client, shortName, key, clientSequence }: Context, token: Buffer): Step {
  const answer = unwrap(key, clientSequence, token)
  if (answer.length < OFFER.length) throw malformed('the choice of a security layer is too short')
  const claimed = nameOf(client)
  const layer = answer[0]!
  if (layer !== NO_LAYER) {
    const why = `the client chose the security layer ${layer}, and only ${NO_LAYER} (no layer) is offered`
    return { kind: 'failure', message: ONLY_AUTH, why, claimed }
  }
  const identity = answer.toString('utf8', OFFER.length)
  if (!isOwnIdentity(identity, client)) throw new Refused(`the client asks to act as ${quoted(identity)}`)
  const authenticated = { name: shortName, tenant: null, groups: [], validUntilMs: null }
  return { kind: 'success', token: Buffer.alloc(0), client: authenticated }
}

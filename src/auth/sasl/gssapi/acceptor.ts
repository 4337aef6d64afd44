// The acceptor of Kerberos V5: it takes the AP-REQ of a client, decides who the client is, and answers with an AP-REP
// if the client asks for one (RFC 4120, sections 3.2.3 and 3.2.4; RFC 4121, section 4.1). The exchange that follows is
// in gssapi.ts. It sends no KRB-ERROR: the client gets the error of Kafka's SaslAuthenticate.
//
// It does not look at the addresses in a ticket, like the acceptors of MIT and Java without channel bindings: a client
// behind a translator of addresses has another address here. It refuses tickets of user-to-user authentication.

import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { enctypeName, Key, USAGE } from './enctypes.ts'
import { asksForMutual, frame, unframe } from './initial-token.ts'
import {
  AP_OPTIONS,
  type ApReq,
  type KeyBytes,
  readApReq,
  readAuthenticator,
  readTicket,
  TICKET_FLAGS,
  type Ticket,
  writeApRep,
  writeApRepPart,
} from './messages.ts'
import { isSame, nameOf, type Principal, shortNameOf } from './names.ts'
import { quoted, Refused } from './refused.ts'
import type { ReplayCache } from './replay-cache.ts'
import type { ServiceKeys } from './service-keys.ts'

/** How far the clocks of the client, the KDC and the broker may differ: the default of every Kerberos. */
export const SKEW_MS = 300_000

/** Some old implementations take the first bit of a sequence number for a sign. */
const SEQUENCE_LIMIT = 2 ** 30

export interface AcceptorRooms {
  readonly clock: Clock
  readonly random: Random
  /** The broker's principal. */
  readonly service: Principal
  readonly keys: ServiceKeys
  readonly replays: ReplayCache
  /** Whether krb5.conf permits the enctype. */
  readonly permits: (enctype: number) => boolean
}

/** An established security context. */
export interface Context {
  readonly client: Principal
  /** The name of the client for ACL rules. */
  readonly shortName: string
  /** The key of Wrap tokens, in both directions. */
  readonly key: Key
  /** The number of the next token of each side. */
  readonly ownSequence: number
  readonly clientSequence: number
  /** The token with the AP-REP; null if the client does not ask for it. */
  readonly answer: Buffer | null
}

/** Accepts the first token of a client. Throws Refused, and AuthenticationBusy if the replay cache has no room. */
export async function accept(token: Buffer, rooms: AcceptorRooms): Promise<Context> {
  const request = readApReq(unframe(token))
  const ticket = await openTicket(request, rooms)
  try {
    return establish(request, ticket, rooms)
  } catch (error) {
    if (error instanceof Refused) throw new Refused(error.message, nameOf(ticket.client))
    throw error
  }
}

async function openTicket({ options, service, ticket }: ApReq, rooms: AcceptorRooms): Promise<Ticket> {
  if ((options & AP_OPTIONS.useSessionKey) !== 0)
    throw new Refused('user-to-user authentication is not supported: the ticket is not encrypted with a service key')
  if (!isSame(service, rooms.service))
    throw new Refused(`the ticket is for ${quoted(nameOf(service))}, and this broker is ${nameOf(rooms.service)}`)
  const { enctype, kvno, cipher } = ticket
  const tried: Key[] = []
  const decrypt = async (): Promise<Buffer | null> => {
    for (const key of await rooms.keys.find(enctype, kvno)) {
      if (tried.includes(key)) continue
      tried.push(key)
      const plaintext = key.decrypt(USAGE.ticket, cipher)
      if (plaintext !== null) return plaintext
    }
    return null
  }
  let plaintext = await decrypt()
  if (plaintext === null) {
    await rooms.keys.lookAgain()
    plaintext = await decrypt()
  }
  if (plaintext !== null) return readTicket(plaintext)
  const version = kvno === null ? 'an unnamed version' : `version ${kvno}`
  const wanted = `the key of ${nameOf(rooms.service)}, ${enctypeName(enctype)}, ${version}`
  throw new Refused(
    tried.length === 0
      ? `the keytab does not hold ${wanted}`
      : `the ticket was changed, or not encrypted with ${wanted}`,
  )
}

function establish(request: ApReq, ticket: Ticket, rooms: AcceptorRooms): Context {
  const nowMs = rooms.clock.now()
  const { client } = ticket
  const shortName = shortNameOf(client, rooms.service.realm)
  checkTicket(ticket, nowMs)
  const sessionKey = openKey(ticket.sessionKey, rooms)
  const { enctype, cipher } = request.authenticator
  const plaintext = enctype === sessionKey.enctype ? sessionKey.decrypt(USAGE.authenticator, cipher) : null
  if (plaintext === null) throw new Refused('the authenticator was changed, or not encrypted with the session key')
  const authenticator = readAuthenticator(plaintext)
  if (!isSame(authenticator.client, client))
    throw new Refused(`the authenticator is of ${quoted(nameOf(authenticator.client))}, and the ticket is not`)
  const offMs = Math.abs(nowMs - authenticator.atMs)
  if (offMs > SKEW_MS)
    throw new Refused(`the client's clock differs by ${seconds(offMs)}; at most ${seconds(SKEW_MS)} are accepted`)
  const isMutual = asksForMutual(authenticator.checksum) || (request.options & AP_OPTIONS.mutualRequired) !== 0
  const key = authenticator.subkey === null ? sessionKey : openKey(authenticator.subkey, rooms)
  rooms.replays.use(cipher, nameOf(client), authenticator.atMs, nowMs)
  const common = { client, shortName, key, clientSequence: authenticator.sequence }
  // Without an AP-REP the client cannot learn another number, and Java calls a token with one a gap.
  if (!isMutual) return { ...common, ownSequence: authenticator.sequence, answer: null }
  const ownSequence = rooms.random.below(SEQUENCE_LIMIT)
  const part = writeApRepPart(authenticator.time, ownSequence)
  const sealed = sessionKey.encrypt(USAGE.apRepPart, part, rooms.random)
  return { ...common, ownSequence, answer: frame(writeApRep({ enctype: sessionKey.enctype, cipher: sealed })) }
}

function checkTicket({ flags, isTransited, startsAtMs, endsAtMs }: Ticket, nowMs: number): void {
  if ((flags & TICKET_FLAGS.anonymous) !== 0) throw new Refused('the ticket is anonymous')
  if ((flags & TICKET_FLAGS.invalid) !== 0) throw new Refused('the ticket is not valid until the KDC validates it')
  // A KDC of another realm could otherwise name any client of this one.
  if (isTransited) throw new Refused("the ticket of a client of the broker's realm came through other realms")
  if (startsAtMs - SKEW_MS > nowMs)
    throw new Refused(`the ticket is not valid yet: ${seconds(startsAtMs - nowMs)} early`)
  if (endsAtMs + SKEW_MS < nowMs) throw new Refused(`the ticket expired ${seconds(nowMs - endsAtMs)} ago`)
}

function openKey({ enctype, bytes }: KeyBytes, { permits }: AcceptorRooms): Key {
  const key = new Key(enctype, bytes)
  if (!permits(enctype)) throw new Refused(`krb5.conf does not permit the encryption type ${enctypeName(enctype)}`)
  return key
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

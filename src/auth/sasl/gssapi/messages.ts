// The messages of Kerberos that an acceptor reads and writes (RFC 4120, section 5): AP-REQ, Ticket, EncTicketPart,
// Authenticator, AP-REP. It checks their shape and fixed numbers. acceptor.ts decides whether they are accepted. A
// field that comes after those that are read here is skipped, because extensions add fields at the end.

import { isUtf8 } from 'node:buffer'
import {
  application,
  BIT_STRING,
  DerReader,
  der,
  derInteger,
  field,
  GENERAL_STRING,
  GENERALIZED_TIME,
  INTEGER,
  integerOf,
  malformed,
  OCTET_STRING,
  SEQUENCE,
} from './der.ts'
import type { Principal } from './names.ts'
import { Refused } from './refused.ts'

const PVNO = 5
const AP_REQ = 14
const AP_REP = 15

/** Bits of KerberosFlags, the first being 0x80000000. */
export const AP_OPTIONS = { useSessionKey: 0x40000000, mutualRequired: 0x20000000 } as const
export const TICKET_FLAGS = { invalid: 0x01000000, anonymous: 0x00008000 } as const

/** Authorization data that a server may ignore (RFC 4120, section 5.2.6.1). */
const AD_IF_RELEVANT = 1

export interface EncryptedData {
  readonly enctype: number
  /** The version of the key; null if the sender does not say it. */
  readonly kvno: number | null
  readonly cipher: Buffer
}

export interface KeyBytes {
  readonly enctype: number
  readonly bytes: Buffer
}

export interface ApReq {
  readonly options: number
  /** The service that the ticket is for. This part of the ticket is not encrypted. */
  readonly service: Principal
  readonly ticket: EncryptedData
  readonly authenticator: EncryptedData
}

export interface Ticket {
  readonly flags: number
  readonly sessionKey: KeyBytes
  readonly client: Principal
  /** Whether the client came through other realms. */
  readonly isTransited: boolean
  readonly startsAtMs: number
  readonly endsAtMs: number
}

/** The client's time as it wrote it: the answer repeats it (RFC 4120, section 3.2.4). */
export interface ClientTime {
  readonly seconds: Buffer
  readonly microseconds: number
}

export interface Authenticator {
  readonly client: Principal
  readonly checksum: { readonly type: number; readonly bytes: Buffer } | null
  readonly time: ClientTime
  readonly atMs: number
  readonly subkey: KeyBytes | null
  readonly sequence: number
}

/** Reads an AP-REQ. This, and the functions below, throw Refused for anything else. */
export function readApReq(bytes: Buffer): ApReq {
  const outer = new DerReader(bytes)
  const reader = insideOf(outer.take(application(AP_REQ)))
  if (!outer.isAtEnd) throw malformed('bytes follow the AP-REQ')
  expect('pvno', readInteger(reader, 0), PVNO)
  expect('msg-type', readInteger(reader, 1), AP_REQ)
  const options = flagsOf(take(reader, 2, BIT_STRING))
  const ticket = insideOf(takeField(reader, 3).take(application(1)))
  expect('tkt-vno', readInteger(ticket, 0), PVNO)
  const service = readPrincipal(ticket, 1)
  return { options, service, ticket: readEncrypted(ticket, 3), authenticator: readEncrypted(reader, 4) }
}

/** Reads the decrypted part of a ticket. */
export function readTicket(plaintext: Buffer): Ticket {
  const reader = insideOf(new DerReader(plaintext).take(application(3)))
  const flags = flagsOf(take(reader, 0, BIT_STRING))
  const sessionKey = readKey(takeField(reader, 1))
  const client = readPrincipal(reader, 2)
  const transited = new DerReader(take(reader, 4, SEQUENCE))
  readInteger(transited, 0)
  const isTransited = take(transited, 1, OCTET_STRING).length > 0
  const authenticatedAtMs = msOf(take(reader, 5, GENERALIZED_TIME))
  const startsAt = takeFieldIf(reader, 6)?.take(GENERALIZED_TIME)
  const endsAtMs = msOf(take(reader, 7, GENERALIZED_TIME))
  takeFieldIf(reader, 8)
  takeFieldIf(reader, 9)
  refuseCritical(takeFieldIf(reader, 10))
  const startsAtMs = startsAt === undefined ? authenticatedAtMs : msOf(startsAt)
  return { flags, sessionKey, client, isTransited, startsAtMs, endsAtMs }
}

/** Reads a decrypted authenticator. */
export function readAuthenticator(plaintext: Buffer): Authenticator {
  const reader = insideOf(new DerReader(plaintext).take(application(2)))
  expect('authenticator-vno', readInteger(reader, 0), PVNO)
  const client = readPrincipal(reader, 1)
  const checksum = takeFieldIf(reader, 3)
  const microseconds = readInteger(reader, 4)
  if (microseconds < 0 || microseconds > 999_999) throw malformed(`cusec is ${microseconds}`)
  const seconds = take(reader, 5, GENERALIZED_TIME)
  const subkey = takeFieldIf(reader, 6)
  const sequence = takeFieldIf(reader, 7)
  refuseCritical(takeFieldIf(reader, 8))
  return {
    client,
    checksum: checksum === null ? null : readChecksum(checksum),
    time: { seconds, microseconds },
    atMs: msOf(seconds) + Math.floor(microseconds / 1000),
    subkey: subkey === null ? null : readKey(subkey),
    // Old clients write a number above 2 ** 31 as a negative one.
    sequence: sequence === null ? 0 : integerOf(sequence.take(INTEGER)) >>> 0,
  }
}

/** Returns the part of an AP-REP that is to be encrypted with the session key (RFC 4120, section 5.5.2). */
export function writeApRepPart({ seconds, microseconds }: ClientTime, sequence: number): Buffer {
  const fields = [
    der(field(0), der(GENERALIZED_TIME, seconds)),
    der(field(1), derInteger(microseconds)),
    der(field(3), derInteger(sequence)),
  ]
  return der(application(27), der(SEQUENCE, ...fields))
}

export function writeApRep({ enctype, cipher }: Omit<EncryptedData, 'kvno'>): Buffer {
  const encrypted = der(SEQUENCE, der(field(0), derInteger(enctype)), der(field(2), der(OCTET_STRING, cipher)))
  const fields = [der(field(0), derInteger(PVNO)), der(field(1), derInteger(AP_REP)), der(field(2), encrypted)]
  return der(application(AP_REP), der(SEQUENCE, ...fields))
}

function expect(what: string, got: number, expected: number): void {
  if (got !== expected) throw malformed(`${what} is ${got}, and ${expected} is expected`)
}

/** Returns a reader of the fields of a SEQUENCE, which is all the content there is. */
function insideOf(content: Buffer): DerReader {
  return new DerReader(new DerReader(content).take(SEQUENCE))
}

function takeField(reader: DerReader, number: number): DerReader {
  return new DerReader(reader.take(field(number)))
}

function takeFieldIf(reader: DerReader, number: number): DerReader | null {
  const content = reader.takeIf(field(number))
  return content === null ? null : new DerReader(content)
}

function take(reader: DerReader, number: number, tag: number): Buffer {
  return takeField(reader, number).take(tag)
}

function readInteger(reader: DerReader, number: number): number {
  return integerOf(take(reader, number, INTEGER))
}

function flagsOf(content: Buffer): number {
  // The first byte counts the unused bits at the end.
  if (content.length < 5) throw malformed('flags have fewer than 32 bits')
  return content.readUInt32BE(1)
}

/** Reads a realm and, from the next field, the components of a name. The type of a name is a hint, and is not read. */
function readPrincipal(reader: DerReader, number: number): Principal {
  const realm = textOf(take(reader, number, GENERAL_STRING))
  const name = new DerReader(take(reader, number + 1, SEQUENCE))
  readInteger(name, 0)
  const list = new DerReader(take(name, 1, SEQUENCE))
  const components: string[] = []
  while (!list.isAtEnd) components.push(textOf(list.take(GENERAL_STRING)))
  return { realm, components }
}

function textOf(content: Buffer): string {
  if (!isUtf8(content)) throw malformed('a name is not UTF-8')
  return content.toString()
}

function readEncrypted(reader: DerReader, number: number): EncryptedData {
  const fields = new DerReader(take(reader, number, SEQUENCE))
  const enctype = readInteger(fields, 0)
  const kvno = takeFieldIf(fields, 1)
  return {
    enctype,
    kvno: kvno === null ? null : integerOf(kvno.take(INTEGER)) >>> 0,
    cipher: take(fields, 2, OCTET_STRING),
  }
}

function readKey(reader: DerReader): KeyBytes {
  const fields = new DerReader(reader.take(SEQUENCE))
  return { enctype: readInteger(fields, 0), bytes: take(fields, 1, OCTET_STRING) }
}

function readChecksum(reader: DerReader): { readonly type: number; readonly bytes: Buffer } {
  const fields = new DerReader(reader.take(SEQUENCE))
  return { type: readInteger(fields, 0), bytes: take(fields, 1, OCTET_STRING) }
}

/**
 * Refuses restrictions that this broker does not know. An element that a server may ignore is inside AD-IF-RELEVANT;
 * any other one must be understood (RFC 4120, section 5.2.6).
 */
function refuseCritical(reader: DerReader | null): void {
  if (reader === null) return
  const list = new DerReader(reader.take(SEQUENCE))
  while (!list.isAtEnd) {
    const type = readInteger(new DerReader(list.take(SEQUENCE)), 0)
    if (type !== AD_IF_RELEVANT)
      throw new Refused(`authorization data of the unknown type ${type} restricts the ticket`)
  }
}

/** Returns a KerberosTime, `20261126112233Z`, in milliseconds since 1970. */
function msOf(content: Buffer): number {
  const found = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(content.toString('latin1'))
  if (found === null) throw malformed('a time does not have the form YYYYMMDDhhmmssZ')
  const [year, month, day, hour, minute, second] = found.slice(1).map(Number)
  return Date.UTC(year!, month! - 1, day, hour, minute, second)
}

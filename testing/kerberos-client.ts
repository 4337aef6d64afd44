// Makes the tokens of a Kerberos client and of its KDC, with any content: also tickets that no KDC gives, such as
// expired or anonymous ones. It needs the broker's key, as a KDC does. Tokens of real clients are in e2e/kerberos.

import {
  application,
  BIT_STRING,
  DerReader,
  der,
  derInteger,
  field,
  GENERAL_STRING,
  GENERALIZED_TIME,
  OBJECT_IDENTIFIER,
  OCTET_STRING,
  SEQUENCE,
} from '../src/auth/sasl/gssapi/der.ts'
import { Key, USAGE } from '../src/auth/sasl/gssapi/enctypes.ts'
import type { Random } from '../src/base/random.ts'

export interface KeytabKey {
  /** `primary/instance@REALM` */
  readonly principal: string
  readonly kvno: number
  readonly enctype: number
  readonly bytes: Buffer
}

/** Returns a keytab of format 2. `kvnoBytes` 1 leaves the long key version out, as old programs do. */
export function writeKeytab(keys: readonly KeytabKey[], kvnoBytes: 1 | 5 = 5): Buffer {
  const u16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
  const u32 = (value: number) => Buffer.from([value >>> 24, (value >> 16) & 0xff, (value >> 8) & 0xff, value & 0xff])
  const counted = (value: string | Buffer) => [u16(Buffer.byteLength(value)), Buffer.from(value as string)]
  const entries = keys.map(({ principal, kvno, enctype, bytes }) => {
    const [name = '', realm = ''] = principal.split('@')
    const components = name.split('/')
    const entry = Buffer.concat([
      ...[u16(components.length), ...counted(realm), ...components.flatMap(counted)],
      ...[u32(1), u32(1_700_000_000), Buffer.from([kvno & 0xff]), u16(enctype), ...counted(bytes)],
      ...(kvnoBytes === 5 ? [u32(kvno)] : []),
    ])
    return Buffer.concat([u32(entry.length), entry])
  })
  return Buffer.concat([Buffer.from([5, 2]), ...entries])
}

export interface TokenOptions {
  /** The key with which the ticket is encrypted. */
  readonly serviceKey: Pick<KeytabKey, 'enctype' | 'bytes'>
  readonly random: Random
  /** The client's time; the ticket is valid for an hour before and after it. */
  readonly atMs: number
  readonly service?: string
  readonly client?: string
  /** The key version that the ticket names; null for none. */
  readonly kvno?: number | null
  readonly sessionEnctype?: number
  readonly pvno?: number
  readonly apOptions?: number
  readonly ticketFlags?: number
  readonly transited?: string
  readonly startsAtMs?: number
  readonly endsAtMs?: number
  /** The types of authorization data in the ticket, and in the authenticator. */
  readonly ticketData?: readonly number[]
  readonly authenticatorData?: readonly number[]
  readonly authenticatorClient?: string
  readonly subkeyEnctype?: number
  readonly sequence?: number
  /** The flags in the checksum. */
  readonly flags?: number
  /** A checksum in the place of the right one; null for none. */
  readonly checksum?: { readonly type: number; readonly bytes: Buffer } | null
  readonly mechanism?: string
}

export interface ClientToken {
  readonly token: Buffer
  /** The key of Wrap tokens. */
  readonly key: Key
  readonly sessionKey: Key
  readonly sequence: number
  /** The encrypted parts of the token, before their encryption. */
  readonly parts: { readonly ticket: Buffer; readonly authenticator: Buffer }
}

export const MUTUAL = 0x02

/** Makes the first token of a client. */
export function makeToken(options: TokenOptions): ClientToken {
  const { random, serviceKey, atMs, service = 'kafka/broker.test@KETCH.TEST', client = 'alice@KETCH.TEST' } = options
  const {
    sessionEnctype = 18,
    sequence = 0x1234_5678,
    kvno = 3,
    subkeyEnctype,
    mechanism = '2a864886f712010202',
  } = options
  const session = newKey(sessionEnctype, random)
  const subkey = subkeyEnctype === undefined ? null : newKey(subkeyEnctype, random)
  const ticketPart = der(
    application(3),
    der(
      SEQUENCE,
      der(field(0), flagsOf(options.ticketFlags ?? 0x40000000)),
      der(field(1), session.der),
      ...principalOf(client, 2),
      der(field(4), typed(0, 1, Buffer.from(options.transited ?? ''))),
      der(field(5), time(atMs - 3_600_000)),
      ...(options.startsAtMs === undefined ? [] : [der(field(6), time(options.startsAtMs))]),
      der(field(7), time(options.endsAtMs ?? atMs + 3_600_000)),
      ...authorizationData(10, options.ticketData),
    ),
  )
  const authenticator = der(
    application(2),
    der(
      SEQUENCE,
      der(field(0), derInteger(5)),
      ...principalOf(options.authenticatorClient ?? client, 1),
      ...checksumOf(options),
      der(field(4), derInteger((atMs % 1000) * 1000 + 7)),
      der(field(5), time(atMs)),
      ...(subkey === null ? [] : [der(field(6), subkey.der)]),
      der(field(7), derInteger(sequence)),
      ...authorizationData(8, options.authenticatorData),
    ),
  )
  const ticketKey = new Key(serviceKey.enctype, serviceKey.bytes)
  const sealedTicket = ticketKey.encrypt(USAGE.ticket, ticketPart, random)
  const ticket = der(
    application(1),
    der(
      SEQUENCE,
      der(field(0), derInteger(5)),
      ...principalOf(service, 1),
      der(field(3), encrypted(serviceKey.enctype, kvno, sealedTicket)),
    ),
  )
  const sealedAuthenticator = session.key.encrypt(USAGE.authenticator, authenticator, random)
  const request = der(
    application(14),
    der(
      SEQUENCE,
      der(field(0), derInteger(options.pvno ?? 5)),
      der(field(1), derInteger(14)),
      der(field(2), flagsOf(options.apOptions ?? 0)),
      der(field(3), ticket),
      der(field(4), encrypted(sessionEnctype, null, sealedAuthenticator)),
    ),
  )
  const oid = der(OBJECT_IDENTIFIER, Buffer.from(mechanism, 'hex'))
  const token = der(application(0), oid, Buffer.from([1, 0]), request)
  const parts = { ticket: ticketPart, authenticator }
  return { token, key: subkey?.key ?? session.key, sessionKey: session.key, sequence, parts }
}

/** Returns the decrypted content of the broker's AP-REP, in hex; null if the session key does not open it. */
export function openApRep(token: Buffer, sessionKey: Key): string | null {
  const frame = new DerReader(new DerReader(token).take(application(0)))
  frame.take(OBJECT_IDENTIFIER)
  const reply = new DerReader(new DerReader(frame.rest().subarray(2)).take(application(15)))
  const fields = new DerReader(reply.take(SEQUENCE))
  fields.take(field(0))
  fields.take(field(1))
  const part = new DerReader(new DerReader(fields.take(field(2))).take(SEQUENCE))
  part.take(field(0))
  const cipher = new DerReader(part.take(field(2))).take(OCTET_STRING)
  return sessionKey.decrypt(USAGE.apRepPart, cipher)?.toString('hex') ?? null
}

export interface WrapOptions {
  readonly sealed?: boolean
  readonly rotation?: number
  readonly filler?: number
  /** Further bits of the flags. */
  readonly flags?: number
  readonly sequence?: number
}

/** Makes a client's Wrap token. */
export function makeWrap(client: ClientToken, data: Buffer, random: Random, options: WrapOptions = {}): Buffer {
  const { sealed = false, rotation = 0, filler = 0, flags = 0, sequence = client.sequence } = options
  const head = Buffer.alloc(16)
  head.writeUInt16BE(0x0504)
  head[2] = flags | (sealed ? 2 : 0)
  head[3] = 0xff
  head.writeBigUInt64BE(BigInt(sequence), 8)
  if (sealed) head.writeUInt16BE(filler, 4)
  const body = sealed
    ? client.key.encrypt(USAGE.initiatorSeal, Buffer.concat([data, Buffer.alloc(filler), head]), random)
    : Buffer.concat([data, client.key.checksum(USAGE.initiatorSeal, Buffer.concat([data, head]))])
  if (!sealed) head.writeUInt16BE(body.length - data.length, 4)
  head.writeUInt16BE(rotation, 6)
  const by = rotation % body.length
  return Buffer.concat([head, body.subarray(body.length - by), body.subarray(0, body.length - by)])
}

function newKey(enctype: number, random: Random): { readonly key: Key; readonly der: Buffer } {
  const bytes = random.bytes(enctype === 17 || enctype === 19 ? 16 : 32)
  return { key: new Key(enctype, bytes), der: typed(0, enctype, bytes) }
}

/** Returns a SEQUENCE of a number and of bytes, as keys, checksums and authorization data are. */
function typed(first: number, type: number, bytes: Buffer): Buffer {
  return der(SEQUENCE, der(field(first), derInteger(type)), der(field(first + 1), der(OCTET_STRING, bytes)))
}

function authorizationData(number: number, types: readonly number[] = []): readonly Buffer[] {
  if (types.length === 0) return []
  return [der(field(number), der(SEQUENCE, ...types.map(type => typed(0, type, Buffer.from('x')))))]
}

function checksumOf({ checksum, flags = 0 }: TokenOptions): readonly Buffer[] {
  if (checksum === null) return []
  const right = Buffer.alloc(24)
  right.writeUInt32LE(16)
  right.writeUInt32LE(flags, 20)
  const { type, bytes } = checksum ?? { type: 0x8003, bytes: right }
  return [der(field(3), typed(0, type, bytes))]
}

function encrypted(enctype: number, kvno: number | null, cipher: Buffer): Buffer {
  const version = kvno === null ? [] : [der(field(1), derInteger(kvno))]
  return der(SEQUENCE, der(field(0), derInteger(enctype)), ...version, der(field(2), der(OCTET_STRING, cipher)))
}

/** Returns the fields of a realm and of a name. */
function principalOf(name: string, number: number): readonly Buffer[] {
  const realmAt = name.lastIndexOf('@')
  const components = name.slice(0, realmAt).split('/')
  const strings = components.map(component => der(GENERAL_STRING, Buffer.from(component)))
  return [
    der(field(number), der(GENERAL_STRING, Buffer.from(name.slice(realmAt + 1)))),
    der(field(number + 1), der(SEQUENCE, der(field(0), derInteger(1)), der(field(1), der(SEQUENCE, ...strings)))),
  ]
}

function flagsOf(flags: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes.writeUInt32BE(flags, 1)
  return der(BIT_STRING, bytes)
}

function time(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(GENERALIZED_TIME, Buffer.from(text))
}

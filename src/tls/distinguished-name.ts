// Writes the distinguished name of a certificate's subject as Apache Kafka's default principal builder does: in the
// form of Java's X500Principal.getName(), which follows RFC 2253. The names of principals in ACL rules depend on every
// character of it. Node's own text of a subject is another format. This file checks no certificate.
//
//   Certificate    SEQUENCE { tbsCertificate, … }                                          (RFC 5280, 4.1)
//   TBSCertificate SEQUENCE { [0] version, serialNumber, signature, issuer, validity, subject, … }
//   Name           SEQUENCE OF relative names, each a SET OF SEQUENCE { type OID, value }

import { assert } from '../base/assert.ts'

/** The attribute types that RFC 2253, 2.3 has a keyword for. All others are written as numbers. */
const KEYWORDS: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'STREET',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '0.9.2342.19200300.100.1.25': 'DC',
  '0.9.2342.19200300.100.1.1': 'UID',
}

/** Tags of ASN.1 (X.690). */
const VERSION = 0xa0
const OID = 0x06
const UTF8_STRING = 0x0c
const PRINTABLE_STRING = 0x13
const T61_STRING = 0x14
const IA5_STRING = 0x16
const BMP_STRING = 0x1e

/**
 * Returns the subject, such as `CN=alice,OU=orders,O=Example`, of a certificate in DER that OpenSSL has parsed; '' if
 * the subject is empty. The last relative name comes first. Two rules differ from Java: a control character is escaped
 * (`\0A`), so that a name is one line of a log, and a value with invalid UTF-8 is written in hex. Throws if the subject
 * has more than 4096 bytes.
 */
export function distinguishedName(certificate: Uint8Array): string {
  const [tbsCertificate] = partsOf(partOf(Buffer.from(certificate)).content)
  const fields = partsOf(tbsCertificate!.content).filter(({ tag }) => tag !== VERSION)
  const subject = fields[4]!
  // The name is in the memory of its connection and in log lines, and a long type of an attribute takes a second.
  if (subject.der.length > MOST_BYTES)
    throw new Error(`it has ${subject.der.length} bytes; at most ${MOST_BYTES} are read`)
  const names = partsOf(subject.content).map(({ content }) => partsOf(content).map(attribute).join('+'))
  return names.reverse().join(',')
}

function attribute({ content }: Part): string {
  const [type, value] = partsOf(content)
  assert(type?.tag === OID && value !== undefined, 'OpenSSL parses no other attribute')
  const oid = oidOf(type.content)
  const keyword = KEYWORDS[oid]
  const text = keyword === undefined ? null : textOf(value)
  return `${keyword ?? oid}=${text === null ? `#${value.der.toString('hex')}` : escaped(text)}`
}

/** Returns the text of a value; null if it has no text that can be written. */
function textOf({ tag, content }: Part): string | null {
  switch (tag) {
    case UTF8_STRING:
    case PRINTABLE_STRING:
    case IA5_STRING: {
      const text = content.toString('utf8')
      return Buffer.from(text).equals(content) ? text : null
    }
    case T61_STRING:
      return content.toString('latin1')
    case BMP_STRING:
      return content.length % 2 === 0 ? Buffer.from(content).swap16().toString('utf16le') : null
    default:
      return null
  }
}

/** RFC 2253, 2.4. Java also escapes every `=` and `#`. */
function escaped(text: string): string {
  return text
    .replace(/[,=+<>#;"\\]/g, '\\$&')
    .replace(/^ +| +$/g, spaces => spaces.replaceAll(' ', '\\ '))
    .replace(/\p{Cc}/gu, control => Buffer.from(control).toString('hex').toUpperCase().replace(/../g, '\\$&'))
}

function oidOf(bytes: Buffer): string {
  const arcs: bigint[] = []
  let arc = 0n
  for (const byte of bytes) {
    arc = (arc << 7n) | BigInt(byte & 0x7f)
    if (byte & 0x80) continue
    arcs.push(arc)
    arc = 0n
  }
  const [joined = 0n, ...others] = arcs
  const first = joined < 80n ? joined / 40n : 2n
  return [first, joined - first * 40n, ...others].join('.')
}

/** The largest subject in bytes. A rule can name a principal of 256 characters. */
const MOST_BYTES = 4096

/** One value of DER. */
interface Part {
  readonly tag: number
  readonly content: Buffer
  /** The value with its tag and its length. */
  readonly der: Buffer
}

function partsOf(bytes: Buffer): readonly Part[] {
  const parts: Part[] = []
  for (let rest = bytes; rest.length > 0; rest = rest.subarray(parts.at(-1)!.der.length)) parts.push(partOf(rest))
  return parts
}

function partOf(bytes: Buffer): Part {
  const first = bytes.readUInt8(1)
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(2, lengthBytes)
  const from = 2 + lengthBytes
  assert(from + length <= bytes.length, 'OpenSSL parses no shorter value')
  return {
    tag: bytes.readUInt8(0),
    content: bytes.subarray(from, from + length),
    der: bytes.subarray(0, from + length),
  }
}

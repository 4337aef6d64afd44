// The frame of the first tokens of Kerberos in GSSAPI (RFC 2743, section 3.1; RFC 4121, section 4.1), and the checksum
// by which a client says what it asks for (RFC 4121, section 4.1.1). messages.ts reads the content of the frame.
//
//   60 length | 06 09 OID of Kerberos V5 | 01 00 | AP-REQ
//   60 length | 06 09 OID of Kerberos V5 | 02 00 | AP-REP

import { application, DerReader, der, malformed, OBJECT_IDENTIFIER } from './der.ts'
import { Refused } from './refused.ts'

/** 1.2.840.113554.1.2.2 */
const KERBEROS_V5 = Buffer.from('2a864886f712010202', 'hex')
/** 1.3.6.1.5.5.2 */
const SPNEGO = Buffer.from('2b0601050502', 'hex')
const AP_REQ_ID = Buffer.from([0x01, 0x00])
const AP_REP_ID = Buffer.from([0x02, 0x00])
const NTLM = 'NTLMSSP\0'

/** The largest token in bytes. Windows makes none above 64 KiB, most of which are the groups of the user. */
const MOST_BYTES = 128 * 1024

/** Returns the AP-REQ of a client's first token. Throws Refused, which names another mechanism if it is one. */
export function unframe(token: Buffer): Buffer {
  if (token.length === 0) throw malformed('it is empty')
  if (token.length > MOST_BYTES) throw malformed(`it has ${token.length} bytes; at most ${MOST_BYTES} are taken`)
  if (token.toString('latin1', 0, NTLM.length) === NTLM)
    throw new Refused('the client speaks NTLM; Kerberos V5 is expected')
  const outer = new DerReader(token)
  const reader = new DerReader(outer.take(application(0)))
  if (!outer.isAtEnd) throw malformed('bytes follow the GSSAPI frame')
  const oid = reader.take(OBJECT_IDENTIFIER)
  if (oid.equals(SPNEGO)) throw new Refused('the client speaks SPNEGO; plain Kerberos V5 is expected (RFC 4752)')
  if (!oid.equals(KERBEROS_V5)) throw new Refused('the GSSAPI mechanism of the token is not Kerberos V5')
  const rest = reader.rest()
  if (!rest.subarray(0, 2).equals(AP_REQ_ID)) throw malformed('its id is not that of an AP-REQ')
  return rest.subarray(2)
}

/** Returns the token of an AP-REP. */
export function frame(apRep: Buffer): Buffer {
  return der(application(0), der(OBJECT_IDENTIFIER, KERBEROS_V5), AP_REP_ID, apRep)
}

const CHECKSUM_TYPE = 0x8003
const BINDINGS_BYTES = 16
const MUTUAL_FLAG = 0x02

/**
 * Returns whether the client asks the broker to prove itself. The checksum also holds a hash of the client's channel
 * bindings: an acceptor that has none ignores it (RFC 4121, section 4.1.1.2). A delegated ticket, which may follow the
 * flags, is not used.
 */
export function asksForMutual(checksum: { readonly type: number; readonly bytes: Buffer } | null): boolean {
  if (checksum === null) throw malformed('the authenticator has no checksum')
  const { type, bytes } = checksum
  if (type !== CHECKSUM_TYPE)
    throw malformed(`the checksum of the authenticator has type ${type}, and 0x8003 is expected`)
  if (bytes.length < 4 + BINDINGS_BYTES + 4 || bytes.readUInt32LE(0) !== BINDINGS_BYTES)
    throw malformed('the checksum of the authenticator is too short')
  return (bytes.readUInt32LE(4 + BINDINGS_BYTES) & MUTUAL_FLAG) !== 0
}

// Reads the first message of a client that authenticates by OAUTHBEARER (RFC 7628, section 3.1; extensions of KIP-342).
// It is as strict as the parser of Apache Kafka, whose words the refusals use. It does not look into the token.
//
//   n,a=authzid,^A auth=Bearer token^A key=value^A ^A          without the spaces; a=authzid may be missing

/** The largest message in bytes. */
const MOST_BYTES = 65_536
/** The largest token in bytes. */
const MOST_TOKEN_BYTES = 16_384

/** Between the parts of the message. */
const SEPARATOR = '\u0001'

export interface FirstMessage {
  readonly kind: 'message'
  readonly token: string
  /** The principal as which the client wants to act; null if it leaves this to the token. */
  readonly authzid: string | null
}

interface BadMessage {
  readonly kind: 'bad'
  /** Contains no part of the message. */
  readonly message: string
}

export function readFirstMessage(bytes: Uint8Array): FirstMessage | BadMessage {
  if (bytes.length > MOST_BYTES) return bad(`: it has more than ${MOST_BYTES} bytes`)
  const parts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1').split(SEPARATOR)
  const header = /^n,(?:a=((?:[ -+\--<>-~]|=2C|=3D)+))?,$/.exec(parts[0]!)
  const pairs = parts.slice(1, -2)
  const isComplete = parts.length >= 3 && parts.at(-1) === '' && parts.at(-2) === ''
  if (header === null || !isComplete || !pairs.every(pair => /^[A-Za-z]+=[\t\n\r -~]+$/.test(pair))) return bad('')
  const given = pairs.filter(pair => pair.startsWith('auth='))
  if (given.length === 0) return bad(": 'auth' not specified")
  if (given.length > 1) return bad(": 'auth' specified more than once")
  const auth = /^auth=(\w+) +([-\w.]+)$/.exec(given[0]!)
  if (auth === null) return bad(": invalid 'auth' format")
  const [, scheme, token] = auth as unknown as [string, string, string]
  if (scheme.toLowerCase() !== 'bearer') return bad(": the scheme of 'auth' is not Bearer")
  if (token.length > MOST_TOKEN_BYTES) return bad(`: the token has more than ${MOST_TOKEN_BYTES} bytes`)
  const authzid = header[1]?.replaceAll('=2C', ',').replaceAll('=3D', '=') ?? null
  return { kind: 'message', token, authzid }
}

function bad(detail: string): BadMessage {
  return { kind: 'bad', message: `Invalid OAUTHBEARER client first message${detail}` }
}

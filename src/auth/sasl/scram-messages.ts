// The messages of a SCRAM exchange (RFC 5802, section 7) as the server reads and writes them. It reads exactly the
// grammar, because a lenient reader could see another message than the client signed. It knows no user.
//
//   client-first   n,[a=<authzid>],n=<user>,r=<client nonce>[,<extensions>]
//   server-first   r=<both nonces>,s=<salt>,i=<iterations>
//   client-final   c=<base64 of the client-first's head>,r=<both nonces>[,<extensions>],p=<proof>
//   server-final   v=<signature>

/** Kafka's clients send 20 to 40 characters. */
const MAX_NONCE_CHARACTERS = 256

export interface ClientFirst {
  /** The gs2 header, which the client repeats in its final message. */
  readonly header: string
  /** The message without the header, as it is signed. */
  readonly bare: string
  readonly user: string
  /** Null if the client wants to act as the user. */
  readonly authzid: string | null
  readonly nonce: string
}

export interface ClientFinal {
  /** The message without the proof, as it is signed. */
  readonly withoutProof: string
  readonly binding: string
  readonly nonce: string
  readonly proof: Buffer
}

/** Why a message cannot be read, as a phrase for the log. It quotes nothing of the message. */
export type Objection = string

const EXTENSIONS = '(?<extensions>(?:,[A-Za-z]+=[^,]+)*)'
const NONCE = String.raw`r=(?<nonce>[\x21-\x2b\x2d-\x7e]+)`
const BASE64 = '[A-Za-z0-9+/]*={0,2}'
const HEADER = '(?<header>(?<flag>[ny]|p=[A-Za-z0-9.-]+),(?:a=(?<authzid>[^,]+))?,)'

const CLIENT_FIRST = new RegExp(`^${HEADER}(?<bare>(?<reserved>m=[^,]+,)?n=(?<user>[^,]+),${NONCE}${EXTENSIONS})$`, 'u')
const CLIENT_FINAL = new RegExp(
  `^(?<withoutProof>c=(?<binding>${BASE64}),${NONCE}${EXTENSIONS}),p=(?<proof>${BASE64})$`,
)

/** The names that RFC 5802 gives to its own attributes. No extension has one of them. */
const OWN_ATTRIBUTE = /,[acimnprsve]=/

/** How a client of Kafka marks the id of a delegation token that it sends as its name (KIP-48). */
const DELEGATION_TOKEN = /,tokenauth=true(?:,|$)/i

export function readClientFirst(text: string): ClientFirst | Objection {
  const groups = CLIENT_FIRST.exec(text)?.groups
  if (groups === undefined) return 'a first message that is not in the form of RFC 5802'
  const { header, flag, bare, reserved, nonce, extensions } = groups
  if (flag!.startsWith('p')) return 'a first message that asks for channel binding, which was not offered'
  if (reserved !== undefined || OWN_ATTRIBUTE.test(extensions!)) return MANDATORY
  if (DELEGATION_TOKEN.test(extensions!)) return 'a delegation token, which this broker does not have'
  if (nonce!.length > MAX_NONCE_CHARACTERS) return `a nonce of more than ${MAX_NONCE_CHARACTERS} characters`
  const user = saslnameOf(groups.user!)
  const authzid = groups.authzid === undefined ? null : saslnameOf(groups.authzid)
  if (user === undefined || authzid === undefined) return "a name with '=' that is not '=2C' or '=3D'"
  return { header: header!, bare: bare!, user, authzid, nonce: nonce! }
}

export function readClientFinal(text: string): ClientFinal | Objection {
  const groups = CLIENT_FINAL.exec(text)?.groups
  if (groups === undefined) return 'a final message that is not in the form of RFC 5802'
  const { withoutProof, binding, nonce, extensions, proof } = groups
  if (OWN_ATTRIBUTE.test(extensions!)) return MANDATORY
  const decoded = Buffer.from(proof!, 'base64')
  // The same bytes in another spelling would let a changed message pass.
  if (decoded.toString('base64') !== proof) return 'a proof that is not in canonical Base64'
  return { withoutProof: withoutProof!, binding: binding!, nonce: nonce!, proof: decoded }
}

const MANDATORY = 'an extension with a name that RFC 5802 reserves'

/** Decodes `=2C` and `=3D` once. Returns undefined if another `=` is left. */
function saslnameOf(encoded: string): string | undefined {
  if (/=(?!2C|3D)/.test(encoded)) return undefined
  return encoded.replace(/=2C|=3D/g, found => (found === '=2C' ? ',' : '='))
}

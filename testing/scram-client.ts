// The client's side of SCRAM-SHA-256 for tests. A test can replace each part of a message to send a wrong one.

import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import type { SaslExchange, SaslMechanism, Step } from '../src/auth/sasl/mechanism.ts'

export interface ScramClient {
  readonly username: string
  readonly password: string
  /** The client's nonce. */
  readonly nonce?: string
  /** Written before the nonce of the final message, as librdkafka before 2.6.1 does with its own nonce. */
  readonly beforeNonce?: string
  /** The gs2 header; `n,,` by default. */
  readonly header?: string
  /** The text after the nonce of the first message, such as `,tokenauth=true`. */
  readonly extensions?: string
  /** Changes the final message before it is sent. */
  readonly final?: (message: string, parts: { readonly nonce: string; readonly proof: string }) => string
}

/** The conversation, and the exchange after it. */
export interface Conversation {
  /** The server's first message; null if the server refused the client's. */
  readonly serverFirst: string | null
  readonly outcome: Step
  readonly exchange: SaslExchange
  /** The signature that only the server with this credential can make; null if it was not reached. */
  readonly signature: string | null
}

/** A connection without TLS. */
export const CHANNEL = Object.freeze({ address: '127.0.0.1', exportKey: () => null })

/** Runs one exchange to its end. */
export async function authenticate(mechanism: SaslMechanism, client: ScramClient): Promise<Conversation> {
  const exchange = mechanism.begin(CHANNEL)
  const { username, nonce = 'rOprNGfwEbeRWgbNEkqO', header = 'n,,', extensions = '' } = client
  const name = username.replaceAll('=', '=3D').replaceAll(',', '=2C')
  const bare = `n=${name},r=${nonce}${extensions}`
  const step = await exchange.step(Buffer.from(`${header}${bare}`))
  if (step.kind !== 'continue') return { serverFirst: null, outcome: step, exchange, signature: null }
  const serverFirst = Buffer.from(step.token).toString()
  const { message, signature } = answer({ ...client, header, bare, serverFirst })
  const outcome = await exchange.step(Buffer.from(message))
  return { serverFirst, outcome, exchange, signature }
}

/** The salted passwords so far: clients of one password and one salt that sign in again do not salt it again. */
const saltedPasswords = new Map<string, Buffer>()

function saltedPassword(password: string, salt: string, iterations: number): Buffer {
  const key = JSON.stringify([password, salt, iterations])
  const salted = saltedPasswords.get(key) ?? pbkdf2Sync(password, Buffer.from(salt, 'base64'), iterations, 32, 'sha256')
  saltedPasswords.set(key, salted)
  return salted
}

interface Asked extends Pick<ScramClient, 'password' | 'beforeNonce' | 'final'> {
  readonly header: string
  readonly bare: string
  readonly serverFirst: string
}

/** Returns the client's final message, and the signature with which the server must answer. */
export function answer({ header, bare, password, serverFirst, beforeNonce = '', final = message => message }: Asked) {
  const parts = Object.fromEntries(serverFirst.split(',').map(part => [part[0], part.slice(2)]))
  const salted = saltedPassword(password, parts.s!, Number(parts.i))
  const hmac = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest()
  const clientKey = hmac(salted, 'Client Key')
  const withoutProof = `c=${Buffer.from(header).toString('base64')},r=${beforeNonce}${parts.r}`
  const signed = `${bare},${serverFirst},${withoutProof}`
  const clientSignature = hmac(createHash('sha256').update(clientKey).digest(), signed)
  const proof = Buffer.from(clientKey.map((byte, at) => byte ^ clientSignature[at]!)).toString('base64')
  const message = final(`${withoutProof},p=${proof}`, { nonce: parts.r!, proof })
  return { message, signature: hmac(hmac(salted, 'Server Key'), signed).toString('base64') }
}

// Signs clients in over real connections, with SCRAM-SHA-256 or PLAIN. A client with a wrong password
// sends a proof of its own making instead of salting the password, because a flood must cost the broker and not itself.

import { randomBytes } from 'node:crypto'
import type { ConnectionOptions } from 'node:tls'
import { saslAuthenticate } from '../src/protocol/messages/sasl-authenticate.ts'
import { saslHandshake } from '../src/protocol/messages/sasl-handshake.ts'
import { answer } from './scram-client.ts'
import { connect, type Wire } from './wire.ts'

export type Mechanism = 'SCRAM-SHA-256' | 'PLAIN'

/** How to reach the listener. */
export interface Where {
  readonly port: number
  readonly tls: ConnectionOptions
}

export interface Who {
  readonly mechanism: Mechanism
  readonly username: string
  /** Null for a wrong one, another each time. */
  readonly password: string | null
}

/** The loopback addresses that the clients of a load come from. */
const ADDRESSES = 16

/** Connects client number `at` of a load, from one of several addresses. */
export function connectFrom({ port, tls }: Where, at: number): Promise<Wire> {
  return connect({ port, tls, from: `127.0.0.${2 + (at % ADDRESSES)}` })
}

/** Chooses the mechanism. */
export async function choose(wire: Wire, mechanism: Mechanism): Promise<void> {
  const { errorCode } = await wire.send(saslHandshake, 1, { mechanism })
  if (errorCode !== 0) throw new Error(`error ${errorCode} to a SaslHandshake`)
}

/** Resolves with the broker's error code; 0 if the client is signed in. Rejects if the connection closes before. */
export async function logIn(wire: Wire, { mechanism, username, password }: Who): Promise<number> {
  await choose(wire, mechanism)
  const take = async (token: string) => await wire.send(saslAuthenticate, 2, { authBytes: Buffer.from(token) })
  if (mechanism === 'PLAIN')
    return (await take(`\0${username}\0${password ?? randomBytes(9).toString('base64')}`)).errorCode
  const header = 'n,,'
  const bare = `n=${username},r=${randomBytes(18).toString('base64url')}`
  const { authBytes, errorCode } = await take(`${header}${bare}`)
  if (errorCode !== 0) return errorCode
  const serverFirst = Buffer.from(authBytes).toString()
  const { message } =
    password === null
      ? { message: `c=biws,${serverFirst.split(',')[0]},p=${randomBytes(32).toString('base64')}` }
      : answer({ header, bare, serverFirst, password })
  return (await take(message)).errorCode
}

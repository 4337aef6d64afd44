// The SASL mechanism with which brokers authenticate to each other: both sides prove that they know a key that only
// the brokers of a cluster can read in the store. A broker never advertises it, and the key itself is never sent. This
// file has both sides and knows no connection: kafka/peer-link.ts carries the tokens of the client's side.
//
//   client                                    server
//     hello         ids, incarnations, nonce ──>
//                                           <── challenge: nonce
//     proof         HMAC(client, ...)        ──>
//                                           <── confirmation: HMAC(server, ...)
//
//   hello   version uint8 = 1
//         | client id int32 | length uint8 | client incarnation
//         | server id int32 | length uint8 | server incarnation
//         | nonce of 32 bytes
//
// A proof is HMAC-SHA256 with the key over the role, the hello, the challenge and the exporter value of the TLS
// connection (RFC 9266), each with its length in front. Without TLS the exporter value is empty. So a proof holds for
// one connection, one direction, one pair of processes and one exchange: replayed, reflected and relayed proofs are
// wrong. Without TLS, someone between the two brokers can still change requests after the exchange.
//
// The client proves first. A stranger learns a nonce and nothing else: not which brokers live, and no value that was
// made with the key.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { DocumentRooms } from '../../store/document-keeper.ts'
import type { Store } from '../../store/store.ts'
import { findSharedKey, makeSharedKey } from '../shared-key.ts'
import type { Channel, SaslExchange, SaslMechanism, Step } from './mechanism.ts'

export const BROKER_MECHANISM = 'KETCH-BROKER'

/** The name of the shared key in the store. */
const KEY = 'brokers'

/** The label of the exporter value (RFC 9266, section 2). */
export const EXPORTER_LABEL = 'EXPORTER-Channel-Binding'

const VERSION = 1
const NONCE_BYTES = 32
const PROOF_BYTES = 32

/** One start of a broker. */
export interface BrokerName {
  readonly id: number
  readonly incarnation: string
}

export interface BrokerMechanismRooms {
  readonly store: Store
  readonly random: Random
  readonly self: BrokerName
  /** Resolves with whether this process is one of the cluster. May ask the store, and throws what the store throws. */
  isMember(broker: BrokerName): Promise<boolean>
}

/** Returns the server's side. */
export function createBrokerMechanism(rooms: BrokerMechanismRooms): SaslMechanism {
  return { name: BROKER_MECHANISM, begin: channel => new ServerExchange(rooms, channel) }
}

/** The same sentence for every reason. */
const REFUSED = 'the broker did not prove that it belongs to this cluster'

class ServerExchange implements SaslExchange {
  readonly #rooms: BrokerMechanismRooms
  readonly #channel: Channel
  readonly #challenge: Buffer
  #hello: Hello | null = null
  #isOver = false

  constructor(rooms: BrokerMechanismRooms, channel: Channel) {
    this.#rooms = rooms
    this.#channel = channel
    this.#challenge = rooms.random.bytes(NONCE_BYTES)
  }

  async step(token: Uint8Array): Promise<Step> {
    assert(!this.#isOver, 'an exchange between brokers takes no token after its end')
    if (this.#hello !== null) {
      this.#isOver = true
      return await this.#judge(this.#hello, token)
    }
    this.#hello = readHello(token)
    if (this.#hello !== null) return { kind: 'continue', token: this.#challenge }
    this.#isOver = true
    return this.#refuse(`the first message has ${token.length} bytes, which are not a greeting of a broker`)
  }

  async #judge({ client, server, bytes }: Hello, proof: Uint8Array): Promise<Step> {
    const { store, self, isMember } = this.#rooms
    // A longer one would stay in memory while the store is asked.
    if (proof.length !== PROOF_BYTES) return this.#refuse(`the proof has ${proof.length} bytes, and not ${PROOF_BYTES}`)
    const key = await findSharedKey(store, KEY)
    if (key === null) return this.#refuse('no broker has made the shared key in the store')
    const bound = this.#channel.exportKey(EXPORTER_LABEL)
    if (!isEqual(proof, proofOf(key, 'client', bytes, this.#challenge, bound)))
      return this.#refuse('the proof is wrong: the key, or the TLS connection, is another one')
    // The client knows the key from here on, so the answers may depend on more than the proof.
    if (server.id !== self.id || server.incarnation !== self.incarnation)
      return this.#refuse(`the client wants to reach ${nameOf(server)}, and this is ${nameOf(self)}`)
    if (client.id === self.id || !(await isMember(client)))
      return this.#refuse(`${nameOf(client)} is not a living broker of this cluster`)
    return {
      kind: 'success',
      token: proofOf(key, 'server', bytes, this.#challenge, bound),
      // A user may have the same name. That gives no rights: they come from isBroker alone.
      client: { name: `ketch-broker-${client.id}`, tenant: null, groups: [], validUntilMs: null, isBroker: true },
    }
  }

  #refuse(why: string): Step {
    const claimed = this.#hello === null ? null : `ketch-broker-${this.#hello.client.id}`
    return { kind: 'failure', message: REFUSED, why, claimed }
  }
}

/** The other side does not know the key, or has refused this broker. The message ends a sentence about it. */
export class BrokerNotProven extends Error {
  override readonly name = 'BrokerNotProven'
}

/** The client's side of one exchange. */
export interface BrokerGreeting {
  readonly hello: Uint8Array
  /** Takes the challenge, and returns the proof. Throws BrokerNotProven. Called once. */
  prove(challenge: Uint8Array): Uint8Array
  /** Throws BrokerNotProven unless the other side has proved that it knows the key. */
  confirm(confirmation: Uint8Array): void
}

/**
 * Begins the client's side, and creates the shared key if no broker has done that. `bound` is the exporter value of
 * the connection; null without TLS. Throws what the store throws.
 */
export async function greetBroker(
  rooms: DocumentRooms,
  { self, other, bound }: { readonly self: BrokerName; readonly other: BrokerName; readonly bound: Uint8Array | null },
): Promise<BrokerGreeting> {
  const key = await makeSharedKey(rooms, KEY)
  const hello = writeHello(self, other, rooms.random.bytes(NONCE_BYTES))
  let expected: Buffer | null = null
  return {
    hello,
    prove(challenge) {
      assert(expected === null, 'a greeting proves once')
      if (challenge.length !== NONCE_BYTES)
        throw new BrokerNotProven(`sent a challenge of ${challenge.length} bytes, and not of ${NONCE_BYTES}`)
      expected = proofOf(key, 'server', hello, challenge, bound)
      return proofOf(key, 'client', hello, challenge, bound)
    },
    confirm(confirmation) {
      if (expected === null || !isEqual(confirmation, expected))
        throw new BrokerNotProven('did not prove that it knows the key of the cluster')
    },
  }
}

function proofOf(
  key: Uint8Array,
  role: 'client' | 'server',
  hello: Uint8Array,
  challenge: Uint8Array,
  bound: Uint8Array | null,
): Buffer {
  const hmac = createHmac('sha256', key)
  for (const part of [Buffer.from(`${BROKER_MECHANISM} ${role}`), hello, challenge, bound ?? Buffer.alloc(0)]) {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(part.length)
    hmac.update(length).update(part)
  }
  return hmac.digest()
}

function isEqual(given: Uint8Array, expected: Uint8Array): boolean {
  return given.length === PROOF_BYTES && timingSafeEqual(given, expected)
}

interface Hello {
  readonly client: BrokerName
  readonly server: BrokerName
  readonly bytes: Uint8Array
}

function writeHello(client: BrokerName, server: BrokerName, nonce: Uint8Array): Buffer {
  const names = [client, server].map(({ id, incarnation }) => {
    const text = Buffer.from(incarnation, 'latin1')
    const head = Buffer.alloc(5)
    head.writeInt32BE(id)
    head.writeUInt8(text.length, 4)
    return Buffer.concat([head, text])
  })
  return Buffer.concat([Buffer.of(VERSION), ...names, nonce])
}

/** Returns null unless the token is a whole hello and nothing else. */
function readHello(token: Uint8Array): Hello | null {
  // The bytes are kept until the proof comes, so they must not share memory with the connection's buffer.
  const bytes = Buffer.from(token)
  if (bytes[0] !== VERSION) return null
  let at = 1
  const names: BrokerName[] = []
  while (names.length < 2) {
    if (bytes.length < at + 5) return null
    const end = at + 5 + bytes[at + 4]!
    if (bytes.length < end) return null
    names.push({ id: bytes.readInt32BE(at), incarnation: bytes.toString('latin1', at + 5, end) })
    at = end
  }
  if (bytes.length !== at + NONCE_BYTES) return null
  return { client: names[0]!, server: names[1]!, bytes }
}

function nameOf({ id, incarnation }: BrokerName): string {
  return `broker ${id} (incarnation ${JSON.stringify(incarnation)})`
}

// kafkajs's SCRAM client against the mechanism itself, without a connection between them.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { storeCredential } from '../../src/admin/credentials.ts'
import type { SaslExchange } from '../../src/auth/sasl/mechanism.ts'
import { openScram } from '../../src/auth/sasl/scram.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { UNNAMED } from '../../src/store/unreadable.ts'
import { CHANNEL } from '../../testing/scram-client.ts'
import { createMemoryStore } from '../../testing/sim/memory-store.ts'

interface Sending {
  readonly request: { encode(): Promise<Buffer> }
  readonly response: { decode(raw: Buffer): Promise<Buffer>; parse(data: Buffer): Promise<unknown> }
}

const { SCRAM, DIGESTS } = createRequire(import.meta.url)('kafkajs/src/broker/saslAuthenticator/scram')

/** The bytes of kafkajs's messages begin with their length. */
const LENGTH_BYTES = 4

function withLength(token: Uint8Array): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeInt32BE(token.length)
  return Buffer.concat([length, token])
}

/** Returns kafkajs's carrier of messages, with this exchange at its other end. */
function carrierTo(exchange: SaslExchange) {
  return async ({ request, response }: Sending) => {
    const step = await exchange.step((await request.encode()).subarray(LENGTH_BYTES))
    if (step.kind === 'failure') throw new Error(step.message)
    return await response.parse(await response.decode(withLength(step.token)))
  }
}

test('kafkajs authenticates with SCRAM-SHA-256 and accepts the signature of the server', async () => {
  const rooms = { store: createMemoryStore(systemClock), clock: systemClock, random: systemRandom, unreadable: UNNAMED }
  const logger = { debug() {}, error() {} }
  const logIn = async (username: string, password: string) => {
    const carrier = carrierTo(openScram(rooms).begin(CHANNEL))
    await new SCRAM({ username, password }, 'broker', 9092, logger, carrier, DIGESTS.SHA256).authenticate()
  }
  for (const [username, password] of [
    ['ada', 'correct horse'],
    ['a=2C,=3D', 'pass,word=ü 🐎'],
    ['zoë', 'x'.repeat(1_024)],
  ] as const) {
    const asked = { username, password, mechanism: 'SCRAM-SHA-256', iterations: 4_096, tenantId: null } as const
    assert.equal((await storeCredential(rooms, asked)).kind, 'stored')
    await logIn(username, password)
    await assert.rejects(logIn(username, `${password}!`), /invalid credentials with SASL mechanism SCRAM-SHA-256/)
  }
  await assert.rejects(logIn('zoe', 'correct horse'), /invalid credentials with SASL mechanism SCRAM-SHA-256/)
})

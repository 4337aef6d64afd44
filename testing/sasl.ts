// A SASL mechanism for tests and a broker that asks for it. The client sends `name:password` in one token, and the
// mechanism accepts each name with the password `right`. A test replaces its step to make it do anything else.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Authenticated, SaslMechanism, Step } from '../src/auth/sasl/mechanism.ts'
import type { Clock } from '../src/base/clock.ts'
import { systemClock } from '../src/base/clock.ts'
import { saslAuthenticate } from '../src/protocol/messages/sasl-authenticate.ts'
import { saslHandshake } from '../src/protocol/messages/sasl-handshake.ts'
import type { ResponseOf } from '../src/protocol/schema.ts'
import type { Values } from '../src/settings/settings.ts'
import { type CleanUp, startBroker } from './broker.ts'
import { countersOf, linesOf } from './kafka.ts'
import { createMemoryStore } from './sim/memory-store.ts'
import type { Wire } from './wire.ts'

export type StepOf = (token: string, taken: number) => Step | Promise<Step>

export function accepted(name: string, fields: Partial<Authenticated> = {}, token = ''): Step {
  const client = { name, tenant: null, groups: [], validUntilMs: null, ...fields }
  return { kind: 'success', token: Buffer.from(token), client }
}

export function rejected(why: string, claimed: string | null = null): Step {
  return { kind: 'failure', message: 'Authentication failed: Invalid username or password', why, claimed }
}

/** Accepts each name with the password `right`. */
export const byPassword: StepOf = token => {
  const [name = '', password] = token.split(':')
  return password === 'right' ? accepted(name) : rejected('invalid password', name)
}

/** Returns a mechanism with this step; `taken` counts the tokens of the exchange before this one. */
export function mechanismOf(step: StepOf = byPassword, name = 'PLAIN'): SaslMechanism {
  return {
    name,
    begin() {
      let taken = 0
      return { step: token => step(Buffer.from(token).toString(), taken++) }
    },
  }
}

export interface SaslBrokerOptions {
  readonly mechanisms?: readonly SaslMechanism[]
  readonly clock?: Clock
  readonly overrides?: Partial<Values>
}

/** Starts a broker in memory whose first listener needs SASL. Its log is JSON. */
export async function startSaslBroker(
  cleanUp: CleanUp,
  { mechanisms = [mechanismOf()], clock = systemClock, overrides = {} }: SaslBrokerOptions = {},
) {
  const store = createMemoryStore(clock)
  cleanUp.after(async () => store.faults.release())
  const broker = await startBroker(
    cleanUp,
    { 'broker.sasl.enabled': true, 'logging.structured.format.console': 'logstash', ...overrides },
    { clock, openStore: async () => store, openMechanisms: async () => mechanisms },
  )
  return { ...broker, store, ...countersOf(broker), lines: () => linesOf(broker) }
}

export function handshake(wire: Wire, mechanism = 'PLAIN', version = 1): Promise<ResponseOf<typeof saslHandshake>> {
  return wire.send(saslHandshake, version, { mechanism })
}

export function sendToken(
  wire: Wire,
  token: string | Uint8Array,
  version = 2,
): Promise<ResponseOf<typeof saslAuthenticate>> {
  return wire.send(saslAuthenticate, version, { authBytes: Buffer.from(token as string) })
}

/** Authenticates with a mechanism of one token. */
export async function authenticate(wire: Wire, token = 'alice:right', mechanism = 'PLAIN') {
  await handshake(wire, mechanism)
  return await sendToken(wire, token)
}

/** Resolves when the broker has closed the connection. Rejects after five seconds. */
export async function closedByBroker(wire: Wire): Promise<void> {
  const late = new AbortController()
  const timeout = sleep(5000, undefined, { signal: late.signal }).then(() => {
    throw new Error('the broker has not closed the connection')
  })
  try {
    await Promise.race([wire.closed, timeout])
  } finally {
    late.abort()
    timeout.catch(() => {})
  }
}

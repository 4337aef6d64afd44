// A broker with the echoing routes of the schema registry, on both ports, and requests for each right there.

import type { HashParameters } from '../src/auth/console/password-hash.ts'
import type { RegistryRight } from '../src/http/route.ts'
import type { Values } from '../src/settings/settings.ts'
import { type CleanUp, startBroker, type TestBroker, type TestBrokerOptions } from './broker.ts'
import { ADMIN_PASSWORD } from './http-roles.ts'
import { askRegistry, echoRoutes, type RegistryAnswer, type RegistryAsk } from './registry-face.ts'

/** Hashes of console users that cost little. */
const QUICK: HashParameters = Object.freeze({ memoryKiB: 512, passes: 1, lanes: 1 })

export const SASL: Partial<Values> = Object.freeze({ 'broker.sasl.enabled': true })
export const ACLS: Partial<Values> = Object.freeze({
  ...SASL,
  'broker.acl.enabled': true,
  'broker.acl.super-users': ['root'],
})
export const BASIC: Partial<Values> = Object.freeze({ 'schema-registry.authentication': 'basic' })

export interface RegistryWorld extends TestBroker {
  /** The base URL on the HTTP port, and that of the own port. */
  readonly below: string
  readonly alone: string
  /** Asks on the HTTP port. */
  ask(path: string, asked?: RegistryAsk): Promise<RegistryAnswer>
}

export async function startRegistry(
  cleanUp: CleanUp,
  settings: Partial<Values> = {},
  options: TestBrokerOptions = {},
): Promise<RegistryWorld> {
  const all = { 'admin.password': ADMIN_PASSWORD, 'schema-registry.port': 0, ...settings }
  const broker = await startBroker(cleanUp, all, {
    ...options,
    http: { registryRoutes: echoRoutes, hashParameters: QUICK },
  })
  const below = `${broker.url}/schema-registry`
  const alone = `http://127.0.0.1:${broker.broker.registryPort}`
  return { ...broker, below, alone, ask: (path, asked) => askRegistry(below, path, asked) }
}

/** A request that has come through a proxy is not from this machine. */
export const ELSEWHERE = Object.freeze({ 'x-forwarded-for': '203.0.113.1' })

export const SCHEMA = Object.freeze({ schema: 's' })

/** A request for each right, with a subject. */
export const requests: Readonly<Record<RegistryRight, (subject: string) => readonly [path: string, RegistryAsk]>> = {
  read: subject => [`/subjects/${subject}/versions`, {}],
  lookup: subject => [`/subjects/${subject}`, { method: 'POST', body: SCHEMA }],
  register: subject => [`/subjects/${subject}/versions`, { method: 'POST', body: SCHEMA }],
  administer: subject => [`/subjects/${subject}`, { method: 'DELETE' }],
}

export const RIGHTS = Object.keys(requests) as readonly RegistryRight[]

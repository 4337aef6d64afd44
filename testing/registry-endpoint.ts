// A broker with the endpoint of the schema registry, and requests to it: below the HTTP port and on the own port, in
// turns.

import type { Values } from '../src/settings/settings.ts'
import { type CleanUp, startBroker, type TestBroker, type TestBrokerOptions } from './broker.ts'
import { ADMIN_PASSWORD } from './http-roles.ts'
import { askRegistry, type RegistryAnswer, type RegistryAsk } from './registry-face.ts'

/** No caller is asked. */
export const OPEN: Partial<Values> = Object.freeze({ 'schema-registry.authentication': 'none' })

/** Asks for members that older clients do not know. */
export const WIDE = Object.freeze({ 'Confluent-Accept-Unknown-Properties': 'true' })

export interface Endpoint extends TestBroker {
  /** The base URLs. */
  readonly bases: readonly [below: string, alone: string]
  ask(path: string, asked?: RegistryAsk): Promise<RegistryAnswer>
  /** Resolves with the status and the body. */
  say(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<[number, unknown]>
  /** Resolves with the status and the `error_code` of a refusal. */
  code(method: string, path: string, body?: unknown): Promise<[number, number]>
  /** Registers a schema. Resolves with its id. */
  register(subject: string, schema: string | object, more?: object): Promise<number>
}

export async function startEndpoint(
  cleanUp: CleanUp,
  settings: Partial<Values> = OPEN,
  options: TestBrokerOptions = {},
): Promise<Endpoint> {
  const all = { 'admin.password': ADMIN_PASSWORD, 'schema-registry.port': 0, ...settings }
  const http = { hashParameters: { memoryKiB: 512, passes: 1, lanes: 1 } }
  const started = await startBroker(cleanUp, all, { ...options, http })
  const bases = [`${started.url}/schema-registry`, `http://127.0.0.1:${started.broker.registryPort}`] as const
  let turn = 0
  const ask = (path: string, asked?: RegistryAsk) => askRegistry(bases[turn++ % 2]!, path, asked)
  const say: Endpoint['say'] = async (method, path, body, headers = {}) => {
    const answer = await ask(path, { method, headers, ...(body === undefined ? {} : { body }) })
    return [answer.status, answer.body]
  }
  return {
    ...started,
    bases,
    ask,
    say,
    async code(method, path, body) {
      const [status, said] = await say(method, path, body)
      return [status, (said as { error_code: number }).error_code]
    },
    async register(subject, schema, more = {}) {
      const text = typeof schema === 'string' ? schema : JSON.stringify(schema)
      const path = `/subjects/${encodeURIComponent(subject)}/versions`
      const [status, said] = await say('POST', path, { schema: text, ...more })
      if (status !== 200) throw new Error(`${subject} was not registered: ${status} ${JSON.stringify(said)}`)
      return (said as { id: number }).id
    },
  }
}

/** Returns the text of an Avro record with int fields; those after the first name have a default. */
export function recordOf(name: string, ...fields: readonly string[]): string {
  const all = fields.map((field, at) => ({ name: field, type: 'int', ...(at > 0 ? { default: 0 } : {}) }))
  return JSON.stringify({ type: 'record', name, fields: all })
}

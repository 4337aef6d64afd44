// The face of the schema registry, which follows Confluent's REST API: its media types, its error bodies, its headers,
// and the spellings of paths that its clients send. It is served below /schema-registry on the HTTP port, and at / on a
// port of its own (svc.schema-registry.port). The routes are in schema-registry-routes/all.ts, the rights in
// schema-registry-access.ts.

import { type ClientPasswordsRooms, openClientPasswords } from '../../auth/clients/client-passwords.ts'
import type { Policies } from '../../auth/clients/policies.ts'
import type { Accounts } from '../../auth/console/accounts.ts'
import type { Registry } from '../../registry/registry.ts'
import { hasSaslListener, isLoopback } from '../../settings/endpoints.ts'
import { fullKey, type Settings } from '../../settings/settings.ts'
import { capabilityStates } from '../../settings/switches.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { readJson } from '../json-body.ts'
import { problem } from '../problems.ts'
import type { AnyRoute } from '../route.ts'
import type { Face } from './face.ts'
import { openRegistryAccess, type RegistryAccess } from './schema-registry-access.ts'
import { NO_SUCH_PLACE, registryErrorOf, registryProblem } from './schema-registry-errors.ts'
import { REGISTRY_TYPES, registryTypeFor } from './schema-registry-media.ts'
import { registryRoutes } from './schema-registry-routes/all.ts'

export const REGISTRY_PATH = '/schema-registry'

/** Confluent's own header. */
const HEADERS = Object.freeze({ 'cache-control': 'no-cache, no-store, must-revalidate' })

export interface RegistryFaceRooms extends ClientPasswordsRooms {
  readonly accounts: Accounts
  readonly policies: Policies
  readonly settings: Settings
  readonly logger: Logger
  readonly registry?: Pick<Registry, 'promptly'> | null
}

export interface RegistryFaces {
  /** For the HTTP port, below REGISTRY_PATH. */
  readonly below: Face
  /** For a port of its own; null if the registry is switched off. */
  readonly alone: Face | null
}

/** Opens both faces, with the same routes. While the registry is switched off, every path names the setting. */
export function openRegistryFaces(
  rooms: RegistryFaceRooms,
  routes: readonly AnyRoute[] = registryRoutes,
): RegistryFaces {
  if (!rooms.settings.get('schema-registry.enabled')) return { below: switchedOff(rooms.settings), alone: null }
  warnOfOpenDoor(rooms)
  const clients = openClientPasswords(rooms)
  const open = (base: string, isOwnPort: boolean) =>
    registryFace(base, routes, promptAccess(openRegistryAccess({ ...rooms, clients, isOwnPort }), rooms.registry))
  return { below: open(REGISTRY_PATH, false), alone: open('', true) }
}

/** Returns a face without routes: its 404 says why it has none. */
function switchedOff(settings: Settings): Face {
  const state = capabilityStates(settings).find(({ id }) => id === 'schema-registry')
  const message = `The schema registry is switched off here: ${state?.because ?? ''}`
  return {
    name: 'schema registry',
    paths: [REGISTRY_PATH],
    routes: [],
    reads: {},
    writes: REGISTRY_TYPES[0],
    headers: HEADERS,
    admit: () => Promise.resolve(NO_SUCH_PLACE),
    errorOf: (what, requestId, accept) => ({
      contentType: registryTypeFor(accept) ?? REGISTRY_TYPES[0],
      body: what.code === 'NOT_FOUND' ? { error_code: 404, message } : registryErrorOf(what, requestId),
    }),
  }
}

/** A sign-in reads users and rules. While the store is silent it is refused, and not kept waiting. */
function promptAccess(access: RegistryAccess, registry: RegistryFaceRooms['registry']): RegistryAccess {
  return registry == null ? access : { admit: (...asked) => registry.promptly(access.admit(...asked)) }
}

/** Warns if the registry asks no caller although the Kafka port does: one schema stops the producers of a topic. */
function warnOfOpenDoor({ settings, accounts, logger }: RegistryFaceRooms): void {
  const key = 'schema-registry.authentication'
  const address = settings.get('server.address')
  if (settings.get(key) !== 'none' || !accounts.isSecured || !hasSaslListener(settings) || isLoopback(address)) return
  const reach = address ?? 'every interface (server.address is not set)'
  logger
    .named('http')
    .warn(
      `INSECURE: ${fullKey(key)} is none (${settings.origin(key)}), and the schema registry answers on ${reach}: every client ` +
        'there can register and delete schemas, although the Kafka port asks for a sign-in',
    )
}

function registryFace(base: string, routes: readonly AnyRoute[], access: RegistryAccess): Face {
  return {
    name: 'schema registry',
    paths: [base],
    isPrompt: true,
    routes: routes.map(each => ({ ...each, path: each.path === '/' ? base || '/' : `${base}${each.path}` })),
    reads: Object.fromEntries([...REGISTRY_TYPES, 'application/octet-stream'].map(type => [type, readJson])),
    readsUntyped: readJson,
    writes: accept => registryTypeFor(accept) ?? REGISTRY_TYPES[0],
    headers: HEADERS,
    spell: target => spellingOf(target, base),
    async admit(route, caller, params) {
      if (registryTypeFor(caller.header('accept')) === null) return problem('NOT_ACCEPTABLE')
      return await access.admit(route, caller, params.subject ?? null)
    },
    misfit: what => (what.part === 'body' ? registryProblem('INVALID_BODY', what.message) : NO_SUCH_PLACE),
    errorOf: (what, requestId, accept) => ({
      contentType: registryTypeFor(accept) ?? REGISTRY_TYPES[0],
      body: registryErrorOf(what, requestId),
    }),
  }
}

/**
 * Returns the target as the routes spell it. Clients append `/subjects` to a base URL that may end with a slash, and
 * some end a path with one. No other slash is touched: a subject may be empty by mistake.
 */
function spellingOf(target: string, base: string): string {
  const [, origin = '', path = '', rest = ''] = /^(https?:\/\/[^/?#]*)?([^?#]*)(.*)$/is.exec(target)!
  const below = path.slice(base.length).replace(/^\/{2,}/, '/')
  const trimmed = below.endsWith('/') ? below.slice(0, -1) : below
  return `${origin}${base}${trimmed}${rest}`.replace(/^(?=\?|#|$)/, '/')
}

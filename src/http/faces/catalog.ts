// The face of the catalog: Iceberg's REST catalog, read-only (apache/iceberg, open-api/rest-catalog-open-api.yaml). SQL
// engines ask it where the table of a topic is. Callers sign in with the token of the settings, or as a user of the
// console by HTTP Basic. Errors have Iceberg's form and names. The routes are in catalog-routes.ts.

import type { Accounts } from '../../auth/console/accounts.ts'
import type { Identity } from '../../auth/console/identity.ts'
import { fullKey, type Settings } from '../../settings/settings.ts'
import { type AccessRooms, admit, byBasic, type Caller, credentialsOf, fromSignIn } from '../access.ts'
import { type Problem, problem } from '../problems.ts'
import { visitorOf } from '../session-cookie.ts'
import { CATALOG_PATH, catalogRoutes } from './catalog-routes.ts'
import type { Face, ReadBody } from './face.ts'

const TOKEN_KEY = 'storage.remote.catalog.token'

/** A client with the token of the settings reads and changes nothing, as a VIEWER. */
const TOKEN_HOLDER: Identity = Object.freeze({
  username: 'catalog token',
  role: 'VIEWER',
  isFederated: false,
  mustChangePassword: false,
  hasShippedPassword: false,
  session: null,
})

const CHALLENGE = Object.freeze({ 'www-authenticate': 'Bearer realm="ketch", Basic realm="ketch", charset="UTF-8"' })

/** Every request with a body is refused, so its bytes do not matter. */
const unread: ReadBody = () => ({ value: undefined })

export function catalogFace(rooms: AccessRooms, settings: Settings): Face {
  const authenticate = byTokenOrBasic(settings.get(TOKEN_KEY))
  return {
    name: 'catalog',
    paths: [CATALOG_PATH],
    routes: catalogRoutes,
    reads: { 'application/json': unread, 'application/x-www-form-urlencoded': unread },
    writes: 'application/json',
    admit: (route, caller) => admit(route, caller, rooms, authenticate),
    errorOf: asIcebergError,
  }
}

function byTokenOrBasic(token: string | null) {
  return async (caller: Caller, accounts: Accounts): Promise<Identity | Problem> => {
    const credentials = credentialsOf(caller)
    if (credentials?.scheme === 'basic') return await byBasic(caller, accounts)
    if (credentials?.scheme !== 'bearer')
      return problem('UNAUTHENTICATED', 'A bearer token, or a username and a password, are required.', {
        headers: CHALLENGE,
      })
    if (token === null)
      return problem(
        'UNAUTHENTICATED',
        `${fullKey(TOKEN_KEY)} is not set, so no bearer token is right: use a username and a password.`,
        { headers: CHALLENGE },
      )
    const visitor = visitorOf(caller.address, caller.header, caller.ended)
    const refused = await accounts.checkToken(TOKEN_KEY, credentials.text, token, visitor)
    if (refused === null) return TOKEN_HOLDER
    if (refused.kind === 'wrong-credentials')
      return problem('INVALID_CREDENTIALS', 'The bearer token is wrong.', { headers: CHALLENGE })
    return fromSignIn(refused)
  }
}

/** Names of errors that do not follow from the status. */
const TYPES: Readonly<Record<string, string>> = {
  NO_SUCH_NAMESPACE: 'NoSuchNamespaceException',
  NO_SUCH_TABLE: 'NoSuchTableException',
  NO_SUCH_VIEW: 'NoSuchViewException',
}

/** Iceberg's names of errors, which clients map to exceptions of their own. */
const TYPE_OF_STATUS: Readonly<Record<number, string>> = {
  400: 'BadRequestException',
  401: 'NotAuthorizedException',
  403: 'ForbiddenException',
  404: 'NotFoundException',
  405: 'UnsupportedOperationException',
  406: 'UnsupportedOperationException',
  429: 'TooManyRequestsException',
  500: 'InternalServerError',
  503: 'SlowDownException',
}

/** Returns an error in the form of Iceberg's specification (ErrorModel). */
function asIcebergError({ status, code, detail }: Problem, requestId: string) {
  const type = TYPES[code] ?? TYPE_OF_STATUS[status] ?? 'BadRequestException'
  const message = status < 500 ? detail : `${detail} (request ${requestId})`
  return { contentType: 'application/json', body: { error: { message, type, code: status } } }
}

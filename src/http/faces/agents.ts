// The face of the agent tools: the Model Context Protocol over streamable HTTP, at /mcp. It checks the caller and
// limits requests before their bodies are read; src/mcp answers. Errors have the form of JSON-RPC 2.0. GET and DELETE
// are 405: there are no sessions, and no stream outlives its answer.

import { isIP } from 'node:net'
import { z } from 'zod'
import { AGENTS_PATH } from '../../api/words.ts'
import type { Accounts } from '../../auth/console/accounts.ts'
import type { Identity } from '../../auth/console/identity.ts'
import { cut } from '../../base/cut.ts'
import { kafkaEndpoints } from '../../settings/endpoints.ts'
import type { Settings } from '../../settings/settings.ts'
import { type Caller, credentialsOf, fromSignIn } from '../access.ts'
import { readJson } from '../json-body.ts'
import { type Problem, problem } from '../problems.ts'
import { type Agents, reply, route } from '../route.ts'
import { visitorOf } from '../session-cookie.ts'
import type { Face, ReadBody } from './face.ts'

const TOKEN_KEY = 'mcp.token'

/** A client with the token of the settings. It may do what the tools do, and nothing else. */
const TOKEN_HOLDER: Identity = Object.freeze({
  username: 'mcp token',
  role: 'VIEWER',
  isFederated: false,
  mustChangePassword: false,
  hasShippedPassword: false,
  session: null,
})

const CHALLENGE = Object.freeze({ 'www-authenticate': 'Bearer realm="ketch"' })

/** The names under which clients put a token into an address, where logs and proxies would show it. */
const TOKENS_IN_QUERY = ['token', 'access_token']

/** Every status that the protocol and its limits have. The bodies are checked by the protocol itself. */
const ANSWERS = Object.fromEntries([200, 202, 400, 404, 406, 415, 429, 500, 503].map(status => [status, null]))

/** A body that is not JSON is answered in the words of JSON-RPC, so the route decides. */
const bodyShape = z.union([z.strictObject({ json: z.unknown() }), z.strictObject({ refused: z.string() })])
const readBody: ReadBody = (bytes, mostValues) => {
  const found = readJson(bytes, mostValues)
  return { value: 'refused' in found ? { refused: found.refused } : { json: found.value } }
}

export function agentsFace(
  { accounts, settings }: { readonly accounts: Accounts; readonly settings: Settings },
  agents: Agents,
): Face {
  const isOwnHost = hostTest(settings)
  const token = settings.get(TOKEN_KEY)
  return {
    name: 'agents',
    paths: [AGENTS_PATH],
    routes: [agentRoute(agents)],
    reads: { 'application/json': readBody },
    writes: 'application/json',
    // A token in the address must reach no log line.
    spell: target => target.replace(/\?.*$/s, query => (hasToken(query) ? `?${TOKENS_IN_QUERY[0]}` : '')),
    async admit(_route, caller) {
      if (!isOwnHost(caller.host))
        return problem('FOREIGN_HOST', `The Host ${JSON.stringify(cut(caller.host))} is not one of this server.`)
      const found = accounts.isSecured ? await byToken(caller, accounts, token!) : null
      if (found !== null && 'kind' in found) return found
      const waitMs = agents.take()
      if (waitMs === 0) return found
      const seconds = String(Math.ceil(waitMs / 1000))
      return problem('TOO_MANY_REQUESTS', 'Agents send too many requests.', { headers: { 'retry-after': seconds } })
    },
    errorOf: asRpcError,
  }
}

function agentRoute(agents: Agents) {
  return route({
    method: 'POST',
    path: AGENTS_PATH,
    // The face decides.
    needs: 'anybody',
    // src/mcp writes an audit line for each call.
    onlyAsks: true,
    verb: 'call agent tool',
    tag: 'agents',
    doc: 'Takes one message of the Model Context Protocol.',
    body: bodyShape.optional(),
    answers: ANSWERS,
    async answer({ body, headers, identity, address, ended }) {
      if (body === undefined || 'refused' in body) {
        const message = body === undefined ? 'The body is empty.' : body.refused
        return reply(400, JSON.stringify({ jsonrpc: '2.0', error: { code: PARSE_ERROR, message }, id: null }))
      }
      const who = identity?.username ?? 'anybody'
      const caller = identity === null ? `address ${address}` : who
      const answer = await agents.answer({ body: body.json, headers, who, from: address, caller, ended })
      return reply(answer.status, answer.body, answer.headers)
    },
  })
}

/** A token that is missing, or in the query, counts as a wrong one. */
async function byToken(caller: Caller, accounts: Accounts, token: string): Promise<Identity | Problem> {
  const isInQuery = TOKENS_IN_QUERY.some(name => Object.hasOwn(caller.query, name))
  const credentials = credentialsOf(caller)
  const given = !isInQuery && credentials?.scheme === 'bearer' ? credentials.text : ''
  const visitor = visitorOf(caller.address, caller.header, caller.ended)
  const refused = await accounts.checkToken(TOKEN_KEY, given, token, visitor)
  if (refused === null) return TOKEN_HOLDER
  if (refused.kind !== 'wrong-credentials') return fromSignIn(refused)
  if (isInQuery)
    return problem('UNAUTHENTICATED', 'A token must not be in the address: send it as Authorization: Bearer.', {
      headers: CHALLENGE,
    })
  if (given === '') return problem('UNAUTHENTICATED', 'A bearer token is required.', { headers: CHALLENGE })
  return problem('INVALID_CREDENTIALS', 'The bearer token is wrong.', { headers: CHALLENGE })
}

function hasToken(query: string): boolean {
  const names = [...new URLSearchParams(query).keys()]
  return names.some(name => TOKENS_IN_QUERY.includes(name.toLowerCase()))
}

/**
 * Returns a test whether a Host header names this server. A page of another site whose name leads to this machine (DNS
 * rebinding) has the other site's name in it.
 */
function hostTest(settings: Settings): (host: string) => boolean {
  const names = new Set(
    [
      'localhost',
      ...kafkaEndpoints(settings).map(each => each.advertisedHost),
      ...settings.get('mcp.allowed-hosts'),
    ].map(name => name.toLowerCase()),
  )
  return host => {
    const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d{1,5})?$/.exec(host) ?? []
    if (bracketed !== undefined) return isIP(bracketed) === 6
    return plain !== undefined && (isIP(plain) === 4 || names.has(plain.toLowerCase()))
  }
}

const [PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR, REFUSED] = [-32_700, -32_600, -32_603, -32_000]

/** Returns an error in the form of JSON-RPC. The id is null: the body was not read. */
function asRpcError({ status, code: name, detail }: Problem, requestId: string) {
  const code = status === 400 ? INVALID_REQUEST : status === 500 ? INTERNAL_ERROR : REFUSED
  const body = { jsonrpc: '2.0', error: { code, message: detail, data: { code: name, requestId } }, id: null }
  return { contentType: 'application/json', body }
}

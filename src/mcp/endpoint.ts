// The endpoint of the agent tools: takes the JSON of one request, and answers it by the SDK's handler, which is
// stateless: no session, no stream that outlives its answer, and any broker of a cluster answers. The HTTP face
// (http/faces/agents.ts) has checked the caller.

import { createMcpHandler } from '@modelcontextprotocol/server'
import { readPackage } from '../admin/build.ts'
import { openAuditLog } from '../admin/loggers.ts'
import type { AgentTools } from '../api/agent-tools.ts'
import { AGENTS_PATH } from '../api/words.ts'
import { afterOthers } from '../base/clock.ts'
import { type AgentCaller, CallLog } from './call-log.ts'
import { Confirmations } from './confirmations.ts'
import { CallLimits, MCP_LIMITS, type McpLimits } from './limits.ts'
import { allPrompts } from './prompts/all.ts'
import type { Prompt, Resource } from './resource.ts'
import { allResources } from './resources/all.ts'
import { createServer, type RequestFacts, type ServerParts } from './server.ts'
import { isChanging, type McpRooms, type Tool } from './tool.ts'
import { allTools } from './tools/all.ts'

/** One POST, which may be sent. */
export interface AgentRequest extends AgentCaller {
  /** The value of the JSON body. */
  readonly body: unknown
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The name of the caller, for work of which each caller has its turns. */
  readonly caller: string
  /** Aborts when the client no longer waits for the answer, or when the broker begins to drain. */
  readonly ended: AbortSignal
}

export interface AgentAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Undefined without a body. */
  readonly body: string | undefined
}

export interface AgentEndpoint {
  /** Counts a request and returns 0; else returns after how many milliseconds one can be counted again. */
  take(): number
  answer(request: AgentRequest): Promise<AgentAnswer>
  /** Returns what people see of the endpoint. */
  describe(): Omit<AgentTools, 'needsToken'>
}

/** Tables and limits in place of the broker's own, for tests of what holds for each of them. */
export interface McpOverrides {
  readonly tools?: readonly Tool[]
  readonly resources?: readonly Resource[]
  readonly prompts?: readonly Prompt[]
  readonly limits?: Partial<McpLimits>
}

/** Headers that the protocol does not need. No code of the SDK sees a secret. */
const KEPT_BACK: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'content-length',
  'transfer-encoding',
  'connection',
])

const [PARSED_WRONG, METHOD_NOT_FOUND, REFUSED] = [-32_600, -32_601, -32_000]
const LOG_EVERY_MS = 5_000

export async function openAgentEndpoint(rooms: McpRooms, overrides: McpOverrides = {}): Promise<AgentEndpoint> {
  const { settings, clock } = rooms
  const logger = rooms.logger.named('mcp')
  const limits = { ...MCP_LIMITS, ...overrides.limits }
  const hasChanges = settings.get('mcp.mutations-enabled')
  const hasMessages = settings.get('mcp.messages-enabled')
  const isServed = (each: object) => hasMessages || !('showsRecords' in each)
  const { version } = await readPackage()
  const parts: ServerParts = {
    rooms: { ...rooms, logger },
    confirmations: new Confirmations(rooms),
    tools: (overrides.tools ?? allTools).filter(tool => isServed(tool) && (hasChanges || !isChanging(tool))),
    resources: (overrides.resources ?? allResources).filter(isServed),
    prompts: overrides.prompts ?? allPrompts,
    version,
    calls: new CallLog({ ...rooms, auditLogger: openAuditLog(rooms.logger) }),
  }
  const calls = new CallLimits(clock, limits)
  /** The facts of the requests that the SDK works on. */
  const facts = new WeakMap<Request, RequestFacts>()
  const handler = createMcpHandler(({ requestInfo }) => createServer(parts, facts.get(requestInfo!)!), {
    legacy: 'stateless',
    // No answer is longer than its time, so no sign of life is needed.
    keepAliveMs: 0,
    onerror: error => logger.limited('refused', LOG_EVERY_MS).debug('the protocol of an agent was not kept', { error }),
  })

  async function inTurn(request: AgentRequest): Promise<AgentAnswer> {
    const { headers, body, ended } = request
    const [late, over] = [new AbortController(), new AbortController()]
    const timer = clock.timer(limits.timeMs, () => {
      const why = new Error('the time of the call is over')
      late.abort(why)
      over.abort(why)
    })
    // A signal of AbortSignal.any looks at its sources each time it is read, and a search reads it for each record.
    const { signal } = over
    const end = () => over.abort(ended.reason)
    ended.addEventListener('abort', end, { once: true })
    if (ended.aborted) end()
    try {
      const turn = await calls.begin(clock.monotonic() + limits.timeMs, signal)
      if (turn === 'full')
        return refuse(429, REFUSED, `${limits.waiting} other calls wait already.`, { 'retry-after': '1' }, idOf(body))
      if (turn === 'over') return refuse(503, REFUSED, 'The broker did not come to this call in time.', {}, idOf(body))
      try {
        // The SDK gets no signal: also when the time is over, it sends the answer that says so.
        const asked = new Request(`http://localhost${AGENTS_PATH}`, { method: 'POST', headers: kept(headers) })
        const userAgent = headers['user-agent']
        facts.set(asked, {
          ...{ who: request.who, from: request.from, caller: request.caller, ended: signal, late: late.signal },
          userAgent: typeof userAgent === 'string' ? userAgent : null,
        })
        // A call is several short pieces of work: to read the request, to find the answer, to write it. Producers must
        // not wait for all of them at once.
        await afterOthers(clock)
        const answer = await handler.fetch(asked, { parsedBody: body })
        await afterOthers(clock)
        return await written(answer)
      } finally {
        calls.end()
      }
    } finally {
      timer.cancel()
      ended.removeEventListener('abort', end)
    }
  }

  return {
    take: () => calls.take(),
    async answer(request) {
      const { body } = request
      if (Array.isArray(body)) return refuse(400, PARSED_WRONG, 'A request is one JSON-RPC message, never an array.')
      if (typeof body !== 'object' || body === null)
        return refuse(400, PARSED_WRONG, 'A request is one JSON-RPC message, an object.')
      // A stream that waits for changes would hold its place for ever.
      if ((body as { readonly method?: unknown }).method === 'subscriptions/listen')
        return refuse(404, METHOD_NOT_FOUND, 'This server has no subscriptions.', {}, idOf(body))
      return await inTurn(request)
    },
    describe: () => ({
      isOn: true,
      path: AGENTS_PATH,
      hasChanges,
      hasMessages,
      tools: parts.tools.map(tool => ({
        ...{ name: tool.name, title: tool.title, description: tool.description },
        changes: isChanging(tool),
      })),
      calls: parts.calls.recent(),
    }),
  }
}

/**
 * Reads the answer of the SDK. To clients with a handshake it sends a stream of one event. They read JSON as well,
 * which has an end and is compressed.
 */
async function written(answer: Response): Promise<AgentAnswer> {
  const type = answer.headers.get('content-type')
  const text = await answer.text()
  const [event, more] = type === 'text/event-stream' ? eventsIn(text) : []
  if (event !== undefined && more === undefined)
    return { status: answer.status, headers: { 'content-type': 'application/json' }, body: event }
  const headers = type === null ? {} : { 'content-type': type }
  return { status: answer.status, headers, body: text === '' ? undefined : text }
}

/** Returns the data of each event. Only CR and LF end a line; `$` of a regular expression also matches at U+2028. */
function eventsIn(stream: string): readonly string[] {
  const [name, lines] = ['data: ', stream.split(/[\r\n]+/)]
  return lines.filter(line => line.startsWith(name)).map(line => line.slice(name.length))
}

function refuse(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  id: string | number | null = null,
): AgentAnswer {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id })
  return { status, headers: { 'content-type': 'application/json', ...headers }, body }
}

function idOf(body: unknown): string | number | null {
  const { id } = body as { readonly id?: unknown }
  return typeof id === 'string' || typeof id === 'number' ? id : null
}

function kept(headers: AgentRequest['headers']): Headers {
  const result = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !KEPT_BACK.has(name))
      result.set(name, typeof value === 'string' ? value : value.join(', '))
  return result
}

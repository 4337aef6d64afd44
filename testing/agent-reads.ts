// A broker with agent tools and enough content for each of the tools that read: topics, records, groups, schemas. The
// clients of a test are the v2 client of the SDK, and the admin API for the same questions.

import type { Client } from '@modelcontextprotocol/client'
import type { McpOverrides } from '../src/mcp/endpoint.ts'
import type { Values } from '../src/settings/settings.ts'
import { AGENT_SETTINGS, connectAgent } from './agent-client.ts'
import { type AskHttp, askHttp } from './ask-http.ts'
import { type CleanUp, startBroker, type TestBroker } from './broker.ts'
import type { Wire } from './wire.ts'

/** An answer of a tool. */
export interface AgentAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: the body is that of the tool
  readonly data: any
  readonly cursor: string | undefined
  readonly leftOut: string | undefined
  /** The code of a refusal. */
  readonly error: string | undefined
  /** The size of the text. */
  readonly bytes: number
}

export interface AgentWorld extends TestBroker {
  readonly client: Client
  readonly wire: Wire
  /** Asks the admin API. */
  readonly api: AskHttp
  /** Calls a tool. */
  call(name: string, args?: Readonly<Record<string, unknown>>): Promise<AgentAnswer>
  /** The number of calls of tools so far. */
  calls(): number
}

/** Starts the broker. The history has short steps, so that a test need not wait for it. */
export async function startAgentWorld(
  cleanUp: CleanUp,
  settings: Partial<Values> = {},
  mcp: McpOverrides = {},
): Promise<AgentWorld> {
  const all: Partial<Values> = {
    ...AGENT_SETTINGS,
    'admin.security-enabled': false,
    'admin.metrics-history.interval': 200,
    'broker.metrics.group-lag-refresh-interval': 200,
    ...settings,
  }
  // A script calls faster than an agent may.
  const limits = { perSecond: 10_000, burst: 10_000, ...mcp.limits }
  const broker = await startBroker(cleanUp, all, { http: { mcp: { ...mcp, limits } } })
  const client = await connectAgent(cleanUp, broker.url)
  let calls = 0
  return {
    ...broker,
    client,
    wire: await broker.connect(),
    api: askHttp(broker.url),
    calls: () => calls,
    async call(name, args = {}) {
      calls++
      const { content, structuredContent } = await client.callTool({ name, arguments: args })
      const [{ text }] = content as unknown as readonly [{ readonly text: string }]
      const { untrusted_data: data, cursor, left_out: leftOut, error } = structuredContent as Record<string, unknown>
      if (text !== JSON.stringify(structuredContent)) throw new Error(`the text of ${name} is another JSON`)
      return { data, cursor, leftOut, error, bytes: Buffer.byteLength(text) } as AgentAnswer
    },
  }
}

/** Calls a tool until it gives no cursor. Resolves with all rows of the member. */
export async function walk(
  { call }: Pick<AgentWorld, 'call'>,
  name: string,
  member: string,
  args: Readonly<Record<string, unknown>> = {},
  // biome-ignore lint/suspicious/noExplicitAny: a row is that of the tool
): Promise<{ readonly rows: readonly any[]; readonly pages: number }> {
  const rows: unknown[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const answer = await call(name, { ...args, ...(cursor !== undefined && { cursor }) })
    if (answer.error !== undefined) throw new Error(`${name} answered ${answer.error}: ${JSON.stringify(answer.data)}`)
    rows.push(...answer.data[member])
    cursor = answer.cursor
    pages++
  } while (cursor !== undefined)
  return { rows, pages }
}

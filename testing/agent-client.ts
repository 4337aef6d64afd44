// Clients of the agent tools: one that sends any JSON to /mcp, and the v2 client of the SDK.

import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CleanUp } from './broker.ts'

export const AGENTS_TOKEN = 'a token of more than thirty-two characters'.replaceAll(' ', '-')

/** The settings of a broker with every tool. */
export const AGENT_SETTINGS = Object.freeze({
  'mcp.enabled': true,
  'mcp.mutations-enabled': true,
  'mcp.token': AGENTS_TOKEN,
} as const)

export interface AgentReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: every member would have to be asserted before it could be asserted
  readonly body: any
}

export interface ToolReply {
  // biome-ignore lint/suspicious/noExplicitAny: the body is that of the tool
  readonly structured: any
  readonly isError: boolean
}

export interface Agent {
  /** Sends a body, as JSON if it is no text. */
  post(body: unknown, headers?: Readonly<Record<string, string>>, query?: string): Promise<AgentReply>
  /** Sends one request of JSON-RPC. */
  ask(method: string, params?: object): Promise<AgentReply>
  /** Calls a tool, and checks that the text has the same JSON as the structured content. */
  call(name: string, args?: object): Promise<ToolReply>
}

/** Returns a client without a handshake, as those of 2025 are for a server without sessions. */
export function agentAt(url: string, token: string | null = AGENTS_TOKEN): Agent {
  let id = 0
  const post: Agent['post'] = async (body, headers = {}, query = '') => {
    const answer = await fetch(`${url}/mcp${query}`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : null }
  }
  const ask: Agent['ask'] = (method, params = {}) => post({ jsonrpc: '2.0', id: ++id, method, params })
  return {
    post,
    ask,
    async call(name, args = {}) {
      const { status, body, text } = await ask('tools/call', { name, arguments: args })
      if (status !== 200 || body.result === undefined) throw new Error(`${name} was answered ${status}: ${text}`)
      const { content, structuredContent: structured, isError = false } = body.result
      if (content[0].text !== JSON.stringify(structured)) throw new Error(`the text of ${name} is another JSON`)
      return { structured, isError }
    },
  }
}

/** Connects the v2 client of the SDK, by default with the newest revision. */
export async function connectAgent(
  cleanUp: CleanUp,
  url: string,
  options: ClientOptions = { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  token: string | null = AGENTS_TOKEN,
): Promise<Client> {
  const client = new Client({ name: 'a-test', version: '1.2.3' }, options)
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  cleanUp.after(() => client.close())
  return client
}

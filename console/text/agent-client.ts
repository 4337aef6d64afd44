// The lines that connect a client of the agent tools (MCP), to copy. They have a placeholder for the token: the console
// does not know it.

import { quote } from './shell.ts'

export const TOKEN_PLACEHOLDER = '<token>'

export interface AgentAccess {
  /** The address of the endpoint, such as `http://localhost:8080/mcp`. */
  readonly url: string
  /** False if the endpoint ignores the token. */
  readonly needsToken: boolean
}

interface Ready {
  readonly label: string
  readonly text: string
}

/** Returns the configuration for a client with a file of servers, and a command for each client with one. */
export function agentClients({ url, needsToken }: AgentAccess): readonly Ready[] {
  const bearer = `Bearer ${TOKEN_PLACEHOLDER}`
  const headers = needsToken ? { headers: { Authorization: bearer } } : {}
  const header = needsToken ? ` --header ${quote(`Authorization: ${bearer}`)}` : ''
  const curlHeader = needsToken ? ` -H ${quote(`Authorization: ${bearer}`)}` : ''
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  return [
    {
      label: 'Configuration of an MCP client',
      text: JSON.stringify({ mcpServers: { ketch: { type: 'http', url, ...headers } } }, null, 2),
    },
    { label: 'Claude Code', text: `claude mcp add --transport http ketch ${quote(url)}${header}` },
    {
      label: 'MCP Inspector: lists the tools',
      text: `npx @modelcontextprotocol/inspector --cli ${quote(url)} --transport http --method tools/list${header}`,
    },
    {
      label: 'curl: lists the tools',
      text: `curl${curlHeader} -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d ${quote(list)} ${quote(url)}`,
    },
  ]
}

/** Returns the lines of svc.yaml that switch the endpoint on. */
export function agentSettings(needsToken: boolean): string {
  return `svc:\n  mcp:\n    enabled: true\n${needsToken ? `    token: ${TOKEN_PLACEHOLDER}\n` : ''}`
}

/** Makes a token that is long enough. */
export const MAKE_TOKEN = 'openssl rand -hex 32'

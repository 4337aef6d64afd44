// The agent tools on the command line: whether agents may call them, and the last calls.

import type { AgentTools } from '../../api/agent-tools.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-status.ts'
import { bytes, list, table } from '../table.ts'

export const agentCommands: readonly Command[] = [
  {
    name: 'agents',
    doc: 'Shows whether agents may call tools, the tools, and the last hundred calls that this broker answered.',
    args: [],
    options: {},
    async run(call) {
      const answer = await call.api.get<AgentTools>('/api/v1/agent-tools')
      call.show(answer, () => agentText(answer))
      return EXIT.OK
    },
  },
]

function agentText({ isOn, path, needsToken, hasChanges, hasMessages, tools, calls }: AgentTools): string {
  if (!isOn) return 'Agents cannot call tools: svc.mcp.enabled is false.\n'
  const facts = list([
    ['path', path],
    ['token', needsToken ? 'needed' : 'ignored'],
    ['changes', hasChanges ? 'on' : 'off'],
    ['messages', hasMessages ? 'on' : 'off'],
  ])
  const rows = tools.map(({ name, changes, title }) => [name, changes ? 'changes' : 'reads', title])
  const last = calls.map(({ calledAt, name, client, from, outcome, bytes: size, tookMs }) => {
    return [calledAt, name, client, from, outcome, bytes(size), tookMs]
  })
  const shown =
    last.length === 0
      ? 'No agent has called a tool yet.\n'
      : table(['CALLED AT', 'CALL', 'CLIENT', 'FROM', 'OUTCOME', 'SIZE', 'MS'], last)
  return `${facts}\n${table(['TOOL', 'EFFECT', 'TITLE'], rows)}\n${shown}`
}

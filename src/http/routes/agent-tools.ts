// The agent tools, as people see them: whether the endpoint is on, its tools, and the last calls.

import { agentToolsShape } from '../../api/agent-tools.ts'
import { AGENTS_PATH } from '../../api/words.ts'
import { reply, route } from '../route.ts'

export const agentToolRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/agent-tools',
    needs: 'admin',
    verb: 'show agent tools',
    tag: 'agents',
    doc: 'Whether agents may call tools at /mcp, which tools they see, and the last hundred calls that this broker answered.',
    answers: { 200: agentToolsShape },
    answer(_request, { agents, accounts }) {
      const off = { isOn: false, path: AGENTS_PATH, hasChanges: false, hasMessages: false, tools: [], calls: [] }
      return reply(200, { ...(agents?.describe() ?? off), needsToken: accounts.isSecured })
    },
  }),
]

// The settings that switch the agent tools on, while they are off.

import { Command } from '../../parts/copy.tsx'
import { Empty } from '../../parts/states.tsx'
import { useSession } from '../../shell/session.tsx'
import { agentSettings, MAKE_TOKEN } from '../../text/agent-client.ts'

export function SwitchedOff({ because }: { readonly because: string | null }) {
  const needsToken = useSession().status?.securityEnabled !== false
  return (
    <Empty
      title={because ?? 'The endpoint for agents is off.'}
      action={
        <div className="w-full min-w-0">
          <Command label="The settings in svc.yaml" text={agentSettings(needsToken)} />
          {needsToken && <Command label="Makes a token" text={MAKE_TOKEN} />}
        </div>
      }
    >
      With it, a program such as Claude asks the cluster about its topics, groups and schemas, over the Model Context
      Protocol (MCP). It changes nothing unless another setting lets it. The setting{' '}
      <code className="font-mono">svc.mcp.enabled</code> switches it on at the next start of the broker.
    </Empty>
  )
}

// The page Agent tools: whether agents may call tools, how a client connects, the tools, and the last calls.

import type { AgentTools } from '../../../src/api/agent-tools.ts'
import { AGENT_TABS } from '../../../src/api/pages.ts'
import { type Read, useRead } from '../../api/queries.ts'
import { PageHead } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { useHere } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'
import { counted } from '../../text/format.ts'
import { Calls } from './calls.tsx'
import { Connect } from './connect.tsx'
import { SwitchedOff } from './switched-off.tsx'
import { ToolList } from './tool-list.tsx'

type Tab = (typeof AGENT_TABS)[number]

const LABELS: Readonly<Record<Tab, string>> = { connect: 'Connect', tools: 'Tools', calls: 'Last calls' }
const BODIES: Readonly<Record<Tab, (tools: AgentTools) => React.ReactNode>> = {
  connect: tools => <Connect of={tools} />,
  tools: tools => <ToolList of={tools} />,
  calls: ({ calls }) => <Calls calls={calls} />,
}

export function Agents() {
  const { search } = useHere('agents')
  const mayRead = useMay('show agent tools')
  const capabilities = useRead('show capabilities', {})
  const endpoint = capabilities.data?.capabilities.find(({ id }) => id === 'mcp')
  const isOn = endpoint?.state === 'on'
  const read = useRead('show agent tools', {}, { isWanted: isOn && mayRead })
  return (
    <>
      <PageHead
        title="Agent tools"
        documentTitle={isOn && mayRead ? `Agent tools · ${LABELS[search.tab]}` : 'Agent tools'}
      >
        {endpoint === undefined ? '\u00a0' : isOn ? <State read={read} /> : 'The endpoint for agents is off.'}
      </PageHead>
      <Loaded read={capabilities} of="The capabilities" rows={4}>
        {() =>
          endpoint === undefined || !isOn ? (
            <SwitchedOff because={endpoint?.because ?? null} />
          ) : mayRead ? (
            <>
              <Tabs
                of="Agent tools"
                tabs={AGENT_TABS.map(tab => ({
                  label: LABELS[tab],
                  isCurrent: tab === search.tab,
                  page: 'agents' as const,
                  search: { tab },
                }))}
              />
              <Loaded read={read} of="The agent tools" rows={8}>
                {tools => <div data-operation="show agent tools">{BODIES[search.tab](tools)}</div>}
              </Loaded>
            </>
          ) : (
            <Empty title="Only an ADMIN sees the agent tools.">
              The tools and the last calls show how agents use this cluster. Ask an ADMIN for the configuration of a
              client.
            </Empty>
          )
        }
      </Loaded>
    </>
  )
}

function State({ read: { data } }: { readonly read: Read<AgentTools> }) {
  if (data === undefined) return 'The endpoint for agents is on.'
  return (
    <span className="tabular-nums">
      The endpoint for agents is on · {counted(data.tools.length, 'tool')} · changes {data.hasChanges ? 'on' : 'off'} ·
      messages {data.hasMessages ? 'on' : 'off'}
    </span>
  )
}

// The tab Connect: the address of the endpoint, the things that agents may do there, and the lines that connect a
// client. The token is in none of them.

import type { ReactNode } from 'react'
import type { AgentTools } from '../../../src/api/agent-tools.ts'
import { Badge } from '../../parts/badge.tsx'
import { Command } from '../../parts/copy.tsx'
import { Section } from '../../parts/page.tsx'
import { agentClients, TOKEN_PLACEHOLDER } from '../../text/agent-client.ts'

export function Connect({ of: { path, needsToken, hasChanges, hasMessages } }: { readonly of: AgentTools }) {
  const url = `${location.origin}${path}`
  return (
    <>
      <Command label="Address of the endpoint" text={url} />
      <dl className="my-4 grid gap-3 md:grid-cols-3">
        <Fact label="Changes" setting="svc.mcp.mutations-enabled" isOn={hasChanges}>
          {hasChanges
            ? 'Agents may change topics, records, groups, schemas and offload jobs. Each change is shown first, and a second call applies it.'
            : 'Agents only read. The tools for changes do not exist.'}
        </Fact>
        <Fact label="Messages" setting="svc.mcp.messages-enabled" isOn={hasMessages}>
          {hasMessages
            ? 'Agents may read the records of every topic.'
            : 'Agents see no record. The tools that show records do not exist.'}
        </Fact>
        <Fact label="Token" setting="svc.mcp.token" isOn={needsToken}>
          {needsToken
            ? 'Each request needs the token. The console never shows it.'
            : 'This broker has no sign-in, so it ignores the token: every program that reaches it may call the tools.'}
        </Fact>
      </dl>
      <Section title="Connect a client">
        {needsToken && (
          <p className="max-w-wide text-muted">
            Replace <Code>{TOKEN_PLACEHOLDER}</Code> by the value of <Code>svc.mcp.token</Code>. It is a password: it
            belongs in no chat and in no repository.
          </p>
        )}
        {agentClients({ url, needsToken }).map(({ label, text }) => (
          <Command key={label} label={label} text={text} />
        ))}
        <p className="max-w-wide text-muted">
          If the broker refuses the host name of this address, add the name to <Code>svc.mcp.allowed-hosts</Code>.
        </p>
      </Section>
    </>
  )
}

interface FactProps {
  readonly label: string
  readonly setting: string
  readonly isOn: boolean
  readonly children: ReactNode
}

function Fact({ label, setting, isOn, children }: FactProps) {
  return (
    <div className="min-w-0 rounded-card border border-line bg-surface p-4">
      <dt className="flex flex-wrap items-center gap-2 font-medium">
        {label} <Badge tone={isOn ? 'ok' : 'neutral'}>{isOn ? 'on' : 'off'}</Badge>
      </dt>
      <dd className="m-0 mt-1 text-muted">
        {children} <Code>{setting}</Code>
      </dd>
    </div>
  )
}

function Code({ children }: { readonly children: string }) {
  return <code className="font-mono text-dense wrap-anywhere">{children}</code>
}

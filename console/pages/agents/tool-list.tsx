// The tab Tools: what each tool does, and whether it changes something.

import type { AgentTools } from '../../../src/api/agent-tools.ts'
import { Badge } from '../../parts/badge.tsx'
import { Empty } from '../../parts/states.tsx'
import { counted } from '../../text/format.ts'

export function ToolList({ of: { tools, hasChanges } }: { readonly of: AgentTools }) {
  if (tools.length === 0) return <Empty title="Agents see no tool." />
  const changing = tools.filter(({ changes }) => changes).length
  return (
    <>
      <p className="mb-3 text-muted">
        {counted(tools.length - changing, 'tool only reads', 'tools only read')}.{' '}
        {hasChanges
          ? `${counted(changing, 'tool changes', 'tools change')} something, after a preview.`
          : 'The setting svc.mcp.mutations-enabled adds the tools for changes.'}
      </p>
      <ul aria-label="Tools" className="grid gap-3 lg:grid-cols-2">
        {tools.map(({ name, title, description, changes }) => (
          <li key={name} className="min-w-0 rounded-card border border-line bg-surface p-4">
            <h2 className="flex flex-wrap items-center gap-2 font-medium">
              {title}
              <Badge tone={changes ? 'warn' : 'neutral'}>{changes ? 'changes' : 'reads'}</Badge>
            </h2>
            <code className="font-mono text-dense wrap-anywhere text-muted">{name}</code>
            <p className="mt-1">{description}</p>
          </li>
        ))}
      </ul>
    </>
  )
}

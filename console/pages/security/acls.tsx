// The rules of Kafka clients: the list by principal or by resource, new rules as a sentence, and taking one back.

import { ShieldPlus } from 'lucide-react'
import { useState } from 'react'
import type { AclRule } from '../../../src/api/acls.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useHere } from '../../shell/address.tsx'
import { useCapability } from '../../shell/capabilities.ts'
import { toast } from '../../shell/toasts.tsx'
import { GrantDialog } from './grant-dialog.tsx'
import { SecurityList, useListQuery } from './security-list.tsx'

export function Acls() {
  const { search, set } = useHere('security')
  const enforcement = useCapability('acls')
  const [isGranting, setGranting] = useState(false)
  const [taken, setTaken] = useState<AclRule | null>(null)
  const sort = search.sort === 'resource' ? 'resource' : 'principal'
  const query = { ...useListQuery('principal'), sort }
  const read = useRead('list acls', { query })
  const principal: Column<AclRule> = {
    id: 'principal',
    head: 'Principal',
    sort: 'principal',
    isFixed: true,
    cell: row => <VisibleText text={row.principal} />,
  }
  const resource: Column<AclRule> = {
    id: 'resource',
    head: 'Resource',
    sort: 'resource',
    isFixed: true,
    cell: row => (
      <span className="inline-flex flex-wrap items-center gap-2">
        <span className="text-muted">{row.resourceType.toLowerCase()}</span>
        <VisibleText text={row.resource} />
        {row.resource.endsWith('*') && <Badge tone="info">{row.resource === '*' ? 'all' : 'prefix'}</Badge>}
      </span>
    ),
  }
  const columns: readonly Column<AclRule>[] = [
    ...(sort === 'resource' ? [resource, principal] : [principal, resource]),
    { id: 'operation', head: 'May', cell: row => row.operation },
    {
      id: 'verbs',
      head: 'Actions',
      isHeadHidden: true,
      isFixed: true,
      cell: rule => (
        <span className="flex justify-end">
          <Action
            operation="delete acl"
            kind="quiet"
            isSmall
            aria-label={`Take back ${rule.operation} of ${rule.principal} on ${rule.resource}`}
            onClick={() => setTaken(rule)}
          >
            Take back
          </Action>
        </span>
      ),
    },
  ]
  return (
    <>
      <SecurityList
        of="rules"
        read={read}
        rowsOf={({ rules }) => rules}
        keyOf={rule => `${rule.principal} ${rule.resourceType} ${rule.resource} ${rule.operation}`}
        columns={columns}
        sort="principal"
        actions={
          <Action operation="create acl" kind="primary" icon={ShieldPlus} onClick={() => setGranting(true)}>
            Grant access
          </Action>
        }
        note={
          <>
            {enforcement !== undefined && enforcement.state !== 'on' && (
              <p className="mb-3 rounded-control bg-warn-soft p-3 text-warn">
                {enforcement.because} Every Kafka client may do everything: these rules have no effect yet.
              </p>
            )}
            <p className="mb-3 text-muted">
              Rules only allow: an operation that no rule allows is refused. A connection keeps the rules that it began
              with.
            </p>
          </>
        }
        empty={
          <Empty title="There is no rule yet.">
            A rule lets a principal, which is a user or a group of an access token, read or write a topic, or read with
            a consumer group.
          </Empty>
        }
      />
      {isGranting && (
        <GrantDialog onClose={() => setGranting(false)} onGranted={name => set({ q: name, offset: null })} />
      )}
      {taken !== null && <TakeBack rule={taken} onClose={() => setTaken(null)} />}
    </>
  )
}

function TakeBack({ rule, onClose }: { readonly rule: AclRule; readonly onClose: () => void }) {
  const { principal, resourceType, resource, operation } = rule
  const { run, isBusy, problem } = useChange('delete acl')
  const submit = async () => {
    const query = { resourceType, resource, operation }
    if ((await run({ params: { principal }, query })) === null) return
    toast(`Took back ${operation} on ${resource} from ${principal}.`)
    onClose()
  }
  return (
    <Confirm
      operation="delete acl"
      title="Take back a rule"
      name={principal}
      verb="Take back"
      isBusy={isBusy}
      problem={problem}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <p>
        <strong>{principal}</strong> may no longer {operation} the {resourceType.toLowerCase()}{' '}
        <strong>{resource}</strong>, unless another rule allows it. Connections that are open keep their rules until
        they end.
      </p>
    </Confirm>
  )
}

// The rules for Kafka clients that match a topic. Rules are changed on the page Security.

import type { AclRule } from '../../../src/api/acls.ts'
import { useRead } from '../../api/queries.ts'
import { buttonClass } from '../../parts/button.tsx'
import { type Column, DataTable } from '../../parts/data-table.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { useMay } from '../../shell/session.tsx'

export function TopicAccess({ topic }: { readonly topic: string }) {
  const known = useRead('show capabilities', {})
  const enforcement = known.data?.capabilities.find(({ id }) => id === 'acls')
  const isAbsent = enforcement?.state === 'absent'
  const rules = useRead('match acls', { query: { topic } }, { isWanted: enforcement !== undefined && !isAbsent })
  const mayGrant = useMay('create acl')
  // The rules are not asked for before the broker has said whether it has any.
  if (enforcement === undefined)
    return (
      <Loaded read={known} of="The capabilities of the broker">
        {() => null}
      </Loaded>
    )
  if (isAbsent) return <Empty title="Every client may use this topic">{enforcement.because}</Empty>
  const isEnforced = enforcement.state === 'on'
  const grant = mayGrant && (
    <PageLink page="security" search={{ tab: 'acls' }} className={buttonClass('plain')}>
      Change rules
    </PageLink>
  )
  return (
    <>
      {enforcement.state === 'off' && (
        <p className="mb-3 rounded-card bg-warn-soft p-3 text-warn">
          Rules are not enforced: every client may read and write this topic. {enforcement.because}
        </p>
      )}
      <Loaded read={rules} of="The rules">
        {({ rules: found, unreadable }) => (
          <>
            {unreadable.length > 0 && (
              <p role="status" className="mb-3 rounded-card bg-warn-soft p-3 text-warn">
                The rules of <VisibleText text={unreadable.join(', ')} /> cannot be read: another version has written
                them.
              </p>
            )}
            {found.length > 0 && <div className="mb-2 flex justify-end">{grant}</div>}
            <DataTable
              name={`Rules that match ${topic}`}
              rows={found}
              keyOf={({ principal, resource, operation }) => JSON.stringify([principal, resource, operation])}
              columns={COLUMNS}
              empty={
                <Empty title="No rule matches this topic" action={grant || undefined}>
                  {isEnforced
                    ? 'Rules are enforced, so no Kafka client may read or write it.'
                    : 'Once rules are enforced, no Kafka client may read or write it.'}
                </Empty>
              }
            />
          </>
        )}
      </Loaded>
    </>
  )
}

const COLUMNS: readonly Column<AclRule>[] = [
  { id: 'principal', head: 'Principal', isFixed: true, cell: ({ principal }) => <VisibleText text={principal} /> },
  { id: 'operation', head: 'May', cell: ({ operation }) => operation.toLowerCase() },
  {
    id: 'resource',
    head: 'By the rule for',
    cell: ({ resource }) => (resource === '*' ? 'all topics' : <VisibleText text={resource} />),
  },
]

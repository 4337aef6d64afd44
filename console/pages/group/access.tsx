// The rules that say which Kafka clients may use the group.

import { useRead } from '../../api/queries.ts'
import { DataTable } from '../../parts/data-table.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { PageLink } from '../../shell/address.tsx'
import { useCapability } from '../../shell/capabilities.ts'

export function Access({ groupId }: { readonly groupId: string }) {
  const rules = useRead('match acls', { query: { group: groupId } })
  const enforcement = useCapability('acls')
  return (
    <Loaded read={rules} of="The rules" rows={3}>
      {({ rules: found, unreadable }) => (
        <>
          {enforcement !== undefined && enforcement.state !== 'on' && (
            <p className="mb-3 rounded-card border border-line bg-info-soft p-3">
              Rules are not enforced, so every client may use the group. {enforcement.because}
            </p>
          )}
          {unreadable.length > 0 && (
            <p className="mb-3 rounded-card border border-warn bg-warn-soft p-3 text-warn">
              This version cannot read the rules of <VisibleText text={unreadable.join(', ')} />.
            </p>
          )}
          <DataTable
            name="Rules for the group"
            rows={found}
            keyOf={({ principal, resource, operation }) => JSON.stringify([principal, resource, operation])}
            columns={[
              {
                id: 'principal',
                head: 'Principal',
                isFixed: true,
                cell: ({ principal }) => <VisibleText text={principal} />,
              },
              { id: 'operation', head: 'May', cell: ({ operation }) => operation },
              {
                id: 'resource',
                head: 'Groups',
                cell: ({ resource }) => (
                  <span className="font-mono text-dense">
                    <VisibleText text={resource} />
                  </span>
                ),
              },
            ]}
            empty={
              <Empty
                title="No rule names this group"
                action={
                  <PageLink page="security" search={{ tab: 'acls' }}>
                    All rules
                  </PageLink>
                }
              >
                A client needs READ on the group, and READ on its topics, when rules are enforced.
              </Empty>
            }
          />
        </>
      )}
    </Loaded>
  )
}

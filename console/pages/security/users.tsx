// The users of the console and the admin API, with their roles.

import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import type { User } from '../../../src/api/users.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Action } from '../../parts/button.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useGo } from '../../shell/address.tsx'
import { useSession } from '../../shell/session.tsx'
import { SecurityList, useListQuery } from './security-list.tsx'
import { ChangeRole, DeleteUser, NewUser, SetPassword } from './user-dialogs.tsx'

type Open = { readonly kind: 'new' } | { readonly kind: 'role' | 'password' | 'delete'; readonly user: User }

export function Users() {
  const { status } = useSession()
  const go = useGo()
  const [open, setOpen] = useState<Open | null>(null)
  const query = useListQuery('username')
  const read = useRead('list users', { query })
  const columns: readonly Column<User>[] = [
    {
      id: 'username',
      head: 'Name',
      sort: 'username',
      isFixed: true,
      cell: ({ username, passwordChangeRequired }) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          <VisibleText text={username} />
          {username === status?.user && <Badge tone="info">you</Badge>}
          {passwordChangeRequired && <Badge tone="warn">shipped password</Badge>}
        </span>
      ),
    },
    { id: 'role', head: 'Role', sort: 'role', cell: ({ role }) => <span className="whitespace-nowrap">{role}</span> },
    {
      id: 'created',
      head: 'Created',
      sort: 'createdAt',
      isOnPhone: false,
      cell: row => <Time ms={Date.parse(row.createdAt)} />,
    },
    {
      id: 'changed',
      head: 'Password changed',
      sort: 'passwordChangedAt',
      isOnPhone: false,
      cell: row => <Time ms={Date.parse(row.passwordChangedAt)} />,
    },
    {
      id: 'verbs',
      head: 'Actions',
      isHeadHidden: true,
      isFixed: true,
      cell: user => (
        <span className="flex flex-wrap justify-end gap-1">
          <Action
            operation="change user"
            kind="quiet"
            isSmall
            aria-label={`Change role of ${user.username}`}
            onClick={() => setOpen({ kind: 'role', user })}
          >
            Role
          </Action>
          <Action
            operation="change user"
            kind="quiet"
            isSmall
            aria-label={`Set password of ${user.username}`}
            onClick={() =>
              user.username === status?.user ? go({ page: 'password' }) : setOpen({ kind: 'password', user })
            }
          >
            Password
          </Action>
          <Action
            operation="delete user"
            kind="quiet"
            isSmall
            aria-label={`Delete ${user.username}`}
            onClick={() => setOpen({ kind: 'delete', user })}
          >
            Delete
          </Action>
        </span>
      ),
    },
  ]
  const close = () => setOpen(null)
  return (
    <>
      <SecurityList
        of="users"
        read={read}
        rowsOf={({ users }) => users}
        keyOf={({ username }) => username}
        columns={columns}
        sort="username"
        actions={
          <Action operation="create user" kind="primary" icon={UserPlus} onClick={() => setOpen({ kind: 'new' })}>
            New user
          </Action>
        }
        note={
          <p className="mb-3 text-muted">
            An ADMIN may change everything; a VIEWER only reads. The last ADMIN can be neither deleted nor demoted.
            {status?.sso.enabled === true &&
              ' Users of single sign-on are not in this list: their groups decide their role.'}
          </p>
        }
        empty={<Empty title="There is no user." />}
      />
      {open?.kind === 'new' && <NewUser onClose={close} />}
      {open?.kind === 'role' && <ChangeRole user={open.user} onClose={close} />}
      {open?.kind === 'password' && <SetPassword user={open.user} onClose={close} />}
      {open?.kind === 'delete' && <DeleteUser user={open.user} onClose={close} />}
    </>
  )
}

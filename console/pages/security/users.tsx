// The users of the console and the admin API: new ones, roles, passwords, removal.

import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import type { User } from '../../../src/api/users.ts'
import { ROLES, type Role } from '../../../src/api/words.ts'
import { useChange, useRead } from '../../api/queries.ts'
import { Badge } from '../../parts/badge.tsx'
import { Action, Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { Dialog, DialogActions } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/field.tsx'
import { NewPassword } from '../../parts/new-password.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Empty } from '../../parts/states.tsx'
import { Time } from '../../parts/time.tsx'
import { VisibleText } from '../../parts/visible-text.tsx'
import { useGo, useHere } from '../../shell/address.tsx'
import { useSession } from '../../shell/session.tsx'
import { toast } from '../../shell/toasts.tsx'
import { LIMIT, SecurityList } from './security-list.tsx'

type Open = { readonly kind: 'new' } | { readonly kind: 'role' | 'password' | 'delete'; readonly user: User }

export function Users() {
  const { search } = useHere('security')
  const { status } = useSession()
  const go = useGo()
  const [open, setOpen] = useState<Open | null>(null)
  const query = {
    q: search.q,
    sort: search.sort || 'username',
    order: search.order,
    offset: search.offset ?? 0,
    limit: LIMIT,
  }
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
      head: '',
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

const ROLE_OPTIONS = [
  ['ADMIN', 'ADMIN: may change everything'],
  ['VIEWER', 'VIEWER: only reads'],
] as const

const roleOf = (text: string): Role => ROLES.find(each => each === text) ?? 'VIEWER'

function NewUser({ onClose }: { readonly onClose: () => void }) {
  const [username, setUsername] = useState('')
  const [role, setRole] = useState<Role>('VIEWER')
  const [password, setPassword] = useState('')
  const [isRepeated, setRepeated] = useState(false)
  const { run, isBusy, problem } = useChange('create user')
  const submit = async () => {
    if ((await run({ body: { username, password, role } })) === null) return
    toast(`Created the user ${username}.`)
    onClose()
  }
  return (
    <Dialog title="New console user" onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (isRepeated) void submit()
        }}
      >
        <TextField
          label="Name"
          value={username}
          onChange={setUsername}
          error={problem?.fields.username}
          hint="At most 128 characters, without a colon."
          autoComplete="off"
          spellCheck={false}
          required
        />
        <SelectField label="Role" value={role} options={ROLE_OPTIONS} onChange={text => setRole(roleOf(text))} />
        <NewPassword
          value={password}
          onChange={setPassword}
          onRepeated={setRepeated}
          error={problem?.fields.password}
        />
        {problem !== null && Object.keys(problem.fields).length === 0 && <ProblemNote problem={problem} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Action
            operation="create user"
            type="submit"
            kind="primary"
            isBusy={isBusy}
            disabled={!isRepeated || username === ''}
          >
            Create user
          </Action>
        </DialogActions>
      </form>
    </Dialog>
  )
}

interface OfUser {
  readonly user: User
  readonly onClose: () => void
}

function ChangeRole({ user: { username, role: before }, onClose }: OfUser) {
  const [role, setRole] = useState(before)
  const { run, isBusy, problem } = useChange('change user')
  const submit = async () => {
    if ((await run({ params: { username }, body: { role } })) === null) return
    toast(`${username} is now ${role}.`)
    onClose()
  }
  return (
    <Dialog title={`Role of ${username}`} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          void submit()
        }}
      >
        <SelectField
          label="Role"
          value={role}
          options={ROLE_OPTIONS}
          onChange={text => setRole(roleOf(text))}
          error={problem?.fields.role}
        />
        <p className="text-muted">This ends the sessions of {username}.</p>
        {problem !== null && <ProblemNote problem={problem} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Action operation="change user" type="submit" kind="primary" isBusy={isBusy} disabled={role === before}>
            Change role
          </Action>
        </DialogActions>
      </form>
    </Dialog>
  )
}

function SetPassword({ user: { username }, onClose }: OfUser) {
  const [password, setPassword] = useState('')
  const [isRepeated, setRepeated] = useState(false)
  const { run, isBusy, problem } = useChange('change user')
  const submit = async () => {
    if ((await run({ params: { username }, body: { password } })) === null) return
    toast(`${username} has another password.`)
    onClose()
  }
  return (
    <Dialog title={`New password for ${username}`} onClose={onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          if (isRepeated) void submit()
        }}
      >
        <NewPassword
          value={password}
          onChange={setPassword}
          onRepeated={setRepeated}
          error={problem?.fields.password}
        />
        <p className="text-muted">This ends the sessions of {username}.</p>
        {problem !== null && Object.keys(problem.fields).length === 0 && <ProblemNote problem={problem} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Action
            operation="change user"
            type="submit"
            kind="primary"
            isBusy={isBusy}
            disabled={!isRepeated || password === ''}
          >
            Set password
          </Action>
        </DialogActions>
      </form>
    </Dialog>
  )
}

function DeleteUser({ user: { username, role }, onClose }: OfUser) {
  const { run, isBusy, problem } = useChange('delete user')
  const submit = async () => {
    if ((await run({ params: { username } })) === null) return
    toast(`Deleted the user ${username}.`)
    onClose()
  }
  return (
    <Confirm
      operation="delete user"
      title={`Delete the user ${username}`}
      name={username}
      verb="Delete user"
      isBusy={isBusy}
      problem={problem}
      onConfirm={() => void submit()}
      onClose={onClose}
    >
      <p>
        {username} ({role}) can no longer sign in, and every session of this user ends at once. Kafka clients are not
        affected.
      </p>
    </Confirm>
  )
}

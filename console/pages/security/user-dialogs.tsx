// The dialogs of console users: a new one, another role, another password, removal.

import { useState } from 'react'
import type { User } from '../../../src/api/users.ts'
import { ROLES, type Role } from '../../../src/api/words.ts'
import { unplaced } from '../../api/problem.ts'
import { useChange } from '../../api/queries.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { SelectField, TextField } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { NewPassword } from '../../parts/new-password.tsx'
import { toast } from '../../shell/toasts.tsx'

const ROLE_OPTIONS = [
  ['ADMIN', 'ADMIN: may change everything'],
  ['VIEWER', 'VIEWER: only reads'],
] as const

const roleOf = (text: string): Role => ROLES.find(each => each === text) ?? 'VIEWER'

export function NewUser({ onClose }: { readonly onClose: () => void }) {
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
    <FormDialog
      operation="create user"
      title="New console user"
      verb="Create user"
      isReady={isRepeated && username !== ''}
      isBusy={isBusy}
      problem={unplaced(problem)}
      onSubmit={() => void submit()}
      onClose={onClose}
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
      <NewPassword value={password} onChange={setPassword} onRepeated={setRepeated} error={problem?.fields.password} />
    </FormDialog>
  )
}

interface OfUser {
  readonly user: User
  readonly onClose: () => void
}

export function ChangeRole({ user: { username, role: before }, onClose }: OfUser) {
  const [role, setRole] = useState(before)
  const { run, isBusy, problem } = useChange('change user')
  const submit = async () => {
    if ((await run({ params: { username }, body: { role } })) === null) return
    toast(`${username} is now ${role}.`)
    onClose()
  }
  return (
    <FormDialog
      operation="change user"
      title={`Role of ${username}`}
      verb="Change role"
      isReady={role !== before}
      isBusy={isBusy}
      problem={problem}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <SelectField
        label="Role"
        value={role}
        options={ROLE_OPTIONS}
        onChange={text => setRole(roleOf(text))}
        error={problem?.fields.role}
      />
      <p className="text-muted">This ends the sessions of {username}.</p>
    </FormDialog>
  )
}

export function SetPassword({ user: { username }, onClose }: OfUser) {
  const [password, setPassword] = useState('')
  const [isRepeated, setRepeated] = useState(false)
  const { run, isBusy, problem } = useChange('change user')
  const submit = async () => {
    if ((await run({ params: { username }, body: { password } })) === null) return
    toast(`${username} has another password.`)
    onClose()
  }
  return (
    <FormDialog
      operation="change user"
      title={`New password for ${username}`}
      verb="Set password"
      isReady={isRepeated && password !== ''}
      isBusy={isBusy}
      problem={unplaced(problem)}
      onSubmit={() => void submit()}
      onClose={onClose}
    >
      <NewPassword value={password} onChange={setPassword} onRepeated={setRepeated} error={problem?.fields.password} />
      <p className="text-muted">This ends the sessions of {username}.</p>
    </FormDialog>
  )
}

export function DeleteUser({ user: { username, role }, onClose }: OfUser) {
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

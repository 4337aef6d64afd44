// The change of the own password. It ends all sessions of the user, so that the next step is a sign-in. From another
// machine it is the only page while the password is the one that Ketch ships.

import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { asProblem, type Problem } from '../../api/problem.ts'
import { Action, Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import { NewPassword } from '../../parts/new-password.tsx'
import { PageHead } from '../../parts/page.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { Empty } from '../../parts/states.tsx'
import { useGo } from '../../shell/address.tsx'
import { useSession } from '../../shell/session.tsx'
import { toast } from '../../shell/toasts.tsx'

export function Password() {
  const { status, may, mustChangePassword, signOut } = useSession()
  const username = status?.user
  if (username === undefined)
    return (
      <>
        <PageHead title="Change password" />
        <Empty title="No user is signed in.">Security is off, so that there is no password to change.</Empty>
      </>
    )
  const why =
    status?.federated === true
      ? 'Your identity provider signs you in, so that you have no password here.'
      : may('change user')
        ? null
        : 'An ADMIN can change your password: ask one of them.'
  return (
    <>
      <PageHead title="Change password">
        {mustChangePassword
          ? 'This user still has the password that Ketch ships. From another machine nothing else is possible before it is changed.'
          : why === null && `The password of ${username}.`}
      </PageHead>
      {why === null ? (
        <ChangeForm username={username} />
      ) : (
        <Empty title="There is nothing to change here.">{why}</Empty>
      )}
      {mustChangePassword && (
        <div className="mt-6">
          <Button kind="quiet" onClick={() => void signOut().catch(() => {})}>
            Sign out
          </Button>
        </div>
      )}
    </>
  )
}

function ChangeForm({ username }: { readonly username: string }) {
  const { leave } = useSession()
  const go = useGo()
  const [currentPassword, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const [isRepeated, setRepeated] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async () => {
    setBusy(true)
    try {
      await ask('change user', { params: { username }, body: { password, currentPassword } })
      toast('The password is changed. Sign in with the new one.')
      await leave()
      // The sign-in leads to the overview, not back to this form.
      go({ page: 'signIn' }, { replace: true })
    } catch (error) {
      setProblem(asProblem(error))
      setBusy(false)
    }
  }
  const isCurrentWrong = problem?.code === 'WRONG_CURRENT_PASSWORD'
  const objections = isCurrentWrong ? { currentPassword: 'This is not the current password.' } : (problem?.fields ?? {})
  return (
    <form
      className="max-w-dialog"
      onSubmit={event => {
        event.preventDefault()
        if (isRepeated) void submit()
      }}
    >
      <input type="text" name="username" value={username} autoComplete="username" readOnly hidden />
      <TextField
        label="Current password"
        name="current-password"
        type="password"
        value={currentPassword}
        onChange={setCurrent}
        autoComplete="current-password"
        error={objections.currentPassword}
        required
      />
      <NewPassword value={password} onChange={setPassword} onRepeated={setRepeated} error={objections.password} />
      {problem !== null && Object.keys(objections).length === 0 && <ProblemNote problem={problem} />}
      <p className="my-3 text-muted">This ends all of your sessions. Afterwards you sign in with the new password.</p>
      <Action
        operation="change user"
        type="submit"
        kind="primary"
        isBusy={isBusy}
        disabled={!isRepeated || password === ''}
      >
        Change password
      </Action>
    </form>
  )
}

// The first-run setup: makes the first administrator while the broker has no user, and signs in.

import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { asProblem, type Problem, unplaced } from '../../api/problem.ts'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import { NewPassword } from '../../parts/new-password.tsx'
import { PageHead } from '../../parts/page.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { useSession } from '../../shell/session.tsx'

export function Setup() {
  const { status, refresh } = useSession()
  const [username, setUsername] = useState('admin')
  const [password, setPassword] = useState('')
  const [isRepeated, setRepeated] = useState(false)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async () => {
    setBusy(true)
    try {
      await ask('make first admin', { body: { username, password } })
    } catch (error) {
      setProblem(asProblem(error))
    }
    // Also after a refusal: somebody else may have been first.
    await refresh().catch(() => {})
    setBusy(false)
  }
  const rest = unplaced(problem)
  return (
    <div className="rounded-card border border-line bg-surface p-6">
      <PageHead title="Create the first administrator" documentTitle="First-run setup">
        This broker has no console user yet.
      </PageHead>
      {status?.sso.enabled === true && (
        <p className="my-3">This is the account for emergencies: single sign-on works beside it.</p>
      )}
      <form
        onSubmit={event => {
          event.preventDefault()
          if (isRepeated) void submit()
        }}
      >
        <TextField
          label="Username"
          name="username"
          value={username}
          onChange={setUsername}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          error={problem?.fields.username}
          hint="At most 128 characters, without a colon."
          required
        />
        <NewPassword
          value={password}
          onChange={setPassword}
          onRepeated={setRepeated}
          error={problem?.fields.password}
        />
        {rest !== null && <ProblemNote problem={rest} />}
        <div className="mt-4">
          <Button type="submit" kind="primary" isBusy={isBusy} disabled={!isRepeated || password === ''}>
            Create and sign in
          </Button>
        </div>
      </form>
    </div>
  )
}

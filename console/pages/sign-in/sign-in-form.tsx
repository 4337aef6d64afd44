// The form with name and password, for the sign-in page and for the sign-in over a page.

import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { asProblem, type Problem } from '../../api/problem.ts'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'

export function SignInForm({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async () => {
    setBusy(true)
    try {
      await ask('sign in', { body: { username, password } })
      setProblem(null)
      onSignedIn()
    } catch (error) {
      setProblem(asProblem(error))
    }
    setBusy(false)
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        void submit()
      }}
    >
      <TextField label="Username" value={username} onChange={setUsername} autoComplete="username" required />
      <TextField
        label="Password"
        type="password"
        value={password}
        onChange={setPassword}
        autoComplete="current-password"
        required
      />
      {problem !== null && <ProblemNote problem={problem} />}
      <Button type="submit" kind="primary" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  )
}

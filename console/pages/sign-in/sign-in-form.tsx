// The form with name and password, for the sign-in page and for the sign-in over a page. Too many attempts lock a name
// out: the form then counts the seconds down.

import { useEffect, useRef, useState } from 'react'
import { ask, pause } from '../../api/client.ts'
import { asProblem, type Problem } from '../../api/problem.ts'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/field.tsx'
import { ProblemNote } from '../../parts/problem-note.tsx'
import { nowMs } from '../../shell/clock.ts'

interface SignInFormProps {
  /** The name that the form begins with. */
  readonly username?: string
  readonly onSignedIn: () => void
}

export function SignInForm({ username: given = '', onSignedIn }: SignInFormProps) {
  const [username, setUsername] = useState(given)
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [untilMs, setUntilMs] = useState(0)
  const form = useRef<HTMLFormElement>(null)
  const seconds = useCountdown(untilMs)

  const submit = async () => {
    setBusy(true)
    try {
      await ask('sign in', { body: { username, password } })
      setProblem(null)
      onSignedIn()
    } catch (error) {
      const found = asProblem(error)
      setProblem(found)
      setPassword('')
      form.current?.querySelector<HTMLInputElement>('input[type=password]')?.focus()
      if (found.code === 'TOO_MANY_REQUESTS') setUntilMs(nowMs() + (found.retryAfterMs ?? 0))
    }
    setBusy(false)
  }
  const isLockedOut = seconds > 0
  return (
    <form
      ref={form}
      onSubmit={event => {
        event.preventDefault()
        if (!isLockedOut) void submit()
      }}
    >
      <TextField
        label="Username"
        name="username"
        value={username}
        onChange={setUsername}
        autoComplete="username"
        autoFocus={given === ''}
        autoCapitalize="none"
        spellCheck={false}
        required
      />
      <TextField
        label="Password"
        name="password"
        type="password"
        value={password}
        onChange={setPassword}
        autoComplete="current-password"
        data-first={given === '' ? undefined : ''}
        required
      />
      {problem !== null && <Refused problem={problem} isLockedOut={isLockedOut} />}
      <div className="mt-4 flex flex-wrap items-center gap-3">
        <Button type="submit" kind="primary" isBusy={isBusy} disabled={isLockedOut}>
          Sign in
        </Button>
        {isLockedOut && <span className="text-muted tabular-nums">Possible again in {seconds} s</span>}
      </div>
    </form>
  )
}

/** Says why the sign-in failed. It never says which half of the credentials was wrong. */
function Refused({ problem, isLockedOut }: { readonly problem: Problem; readonly isLockedOut: boolean }) {
  if (problem.code === 'TOO_MANY_REQUESTS')
    return (
      <p role="alert" className="text-danger">
        {isLockedOut ? 'Too many attempts failed. Wait before the next one.' : 'You can try again.'}
      </p>
    )
  if (problem.code === 'INVALID_CREDENTIALS')
    return (
      <p role="alert" className="text-danger">
        The username or the password is wrong.
      </p>
    )
  return <ProblemNote problem={problem} />
}

/** Returns the whole seconds until a time; 0 after it. */
function useCountdown(untilMs: number): number {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    const ended = new AbortController()
    const count = async () => {
      for (;;) {
        const left = Math.max(0, Math.ceil((untilMs - nowMs()) / 1000))
        setSeconds(left)
        if (left === 0) return
        await pause(1_000, ended.signal)
      }
    }
    count().catch(() => {
      // The form was left.
    })
    return () => ended.abort()
  }, [untilMs])
  return seconds
}

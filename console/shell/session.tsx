// Who is signed in, and what that user may do. A session that ended opens the sign-in over the page: the page keeps
// its drafts, and the requests that were refused run afterwards. The forms themselves are in pages/sign-in.

import { useQueryClient } from '@tanstack/react-query'
import { createContext, Fragment, type ReactNode, use, useEffect, useMemo, useRef, useState } from 'react'
import type { AuthStatus } from '../../src/api/auth.ts'
import { type AskOptions, ask, type Operation, watchAnswers } from '../api/client.ts'
import { operations } from '../api/operations.ts'
import { ownProblem, Problem } from '../api/problem.ts'
import { noteAnswer, noteBeat } from './connection.ts'

export interface Session {
  /** Undefined until the first answer of the broker. */
  readonly status: AuthStatus | undefined
  /** Why the broker does not say who is signed in; null if it does. */
  readonly problem: Problem | null
  /** True while the user has to sign in over the page, or gave up to do so. */
  readonly isExpired: boolean
  /** True while the broker allows nothing but the change of the password. */
  readonly mustChangePassword: boolean
  /** Returns whether the user may do this. */
  may(operation: Operation): boolean
  /** Asks again who is signed in, for example after a sign-in, or takes an answer on its way. Throws a Problem. */
  refresh(options?: AskOptions, asking?: Promise<AuthStatus>): Promise<AuthStatus>
  /** Ends the session, here and in the other tabs. Throws a Problem. */
  signOut(): Promise<void>
  /** Forgets everything that this user saw, here and in the other tabs, because the session has ended on purpose. */
  leave(): Promise<void>
}

const SessionContext = createContext<Session | null>(null)

export function useSession(): Session {
  return use(SessionContext)!
}

const TABS = 'ketch-session'
const UNAUTHORIZED = 401

function isSame(one: AuthStatus | undefined, other: AuthStatus): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

interface SessionProviderProps {
  /** The first answer, which was asked for before React began. */
  readonly first: Promise<AuthStatus>
  /** The same if it is there already. */
  readonly known: AuthStatus | undefined
  readonly children: ReactNode
}

export function SessionProvider({ first, known, children }: SessionProviderProps) {
  const client = useQueryClient()
  const [status, setStatus] = useState(known)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isExpired, setExpired] = useState(false)
  const [mustChangePassword, setMustChange] = useState(false)
  /** Those that wait for the sign-in. */
  const waiting = useRef<PromiseWithResolvers<void> | null>(null)
  const tabs = useMemo(() => new BroadcastChannel(TABS), [])
  /** Counts the users who have left. */
  const gone = useRef(0)
  /** The user whose page this is, also while the session is over; undefined before the sign-in. */
  const user = useRef<string>(undefined)
  /** Counts the users: the page of another one begins anew. */
  const [owner, setOwner] = useState(0)

  const session = useMemo<Session & { readonly forget: () => void }>(() => {
    const role = status?.role
    const isOpen = status?.securityEnabled === false
    /** Forgets the user and everything that this user saw. Requests of this user must not run for another one. */
    function forget() {
      user.current = undefined
      gone.current++
      waiting.current?.reject(ownProblem('NOT_REPEATED', UNAUTHORIZED))
      waiting.current = null
      setExpired(false)
      client.clear()
    }
    async function refresh(options: AskOptions = {}, asking = ask('describe session', {}, options)) {
      const before = gone.current
      try {
        const found = await asking
        noteBeat(null)
        // The broker may have answered before the user left, and the answer came late.
        if (before !== gone.current) return found
        setProblem(null)
        if (found.securityEnabled && found.user === undefined) {
          // The page stays as the user left it, under the sign-in.
          if (user.current !== undefined) setExpired(true)
          else setStatus(found)
          return found
        }
        setStatus(before => (isSame(before, found) ? before : found))
        setExpired(false)
        if (found.passwordChangeRequired !== true) setMustChange(false)
        if (user.current !== undefined && user.current !== found.user) {
          forget()
          setOwner(before => before + 1)
        }
        user.current = found.user
        waiting.current?.resolve()
        waiting.current = null
        return found
      } catch (error) {
        if (error instanceof Problem) {
          noteBeat(error.isAway ? error : null)
          setProblem(error)
        }
        throw error
      }
    }
    async function leave() {
      forget()
      tabs.postMessage('left')
      await refresh()
    }
    return {
      status,
      problem,
      isExpired,
      mustChangePassword,
      refresh,
      may(operation) {
        const { needs } = operations[operation]
        if (isOpen || needs === 'anybody') return true
        return needs === 'viewer' ? role !== undefined : role === 'ADMIN'
      },
      async signOut() {
        await ask('sign out', {})
        await leave()
      },
      leave,
      forget,
    }
  }, [status, problem, isExpired, mustChangePassword, client, tabs])

  const latest = useRef(session)
  latest.current = session

  useEffect(() => {
    watchAnswers({
      signIn() {
        // Before the first sign-in there is no page to come back to: the request fails, and the sign-in page is shown.
        waiting.current ??= Promise.withResolvers<void>()
        if (user.current !== undefined) setExpired(true)
        else void latest.current.refresh().catch(() => {})
        return waiting.current.promise
      },
      passwordChangeRequired: () => setMustChange(true),
      answered: noteAnswer,
    })
    void latest.current.refresh({}, first).catch(() => {})
    tabs.onmessage = ({ data }) => {
      if (data === 'left') latest.current.forget()
      void latest.current.refresh().catch(() => {})
    }
    return () => watchAnswers(null)
  }, [tabs, first])

  const shown = status?.user
  useEffect(() => {
    if (shown !== undefined) tabs.postMessage('signed in')
  }, [shown, tabs])

  return (
    <SessionContext value={session}>
      <Fragment key={owner}>{children}</Fragment>
    </SessionContext>
  )
}

/** Returns whether the user may run the operation. */
export function useMay(operation: Operation): boolean {
  return useSession().may(operation)
}

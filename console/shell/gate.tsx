// Decides what an address shows: the page, or first the sign-in, the first-run setup, or the change of the password.

import { Outlet, useLocation, useRouter, useRouterState } from '@tanstack/react-router'
import { type ReactNode, Suspense, useEffect } from 'react'
import { type Page, type PageId, pageAt, pages } from '../../src/api/pages.ts'
import { lazyPart } from '../parts/lazy-part.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { Skeleton } from '../parts/states.tsx'
import { useGo } from './address.tsx'
import { AwayBanner } from './banners.tsx'
import { Frame } from './frame.tsx'
import { useHeartbeat } from './heartbeat.tsx'
import { ownAddress } from './own-address.ts'
import { useSession } from './session.tsx'
import { Toasts } from './toasts.tsx'

const SessionDialog = lazyPart(async () => (await import('./session-dialog.tsx')).SessionDialog)

export function Gate() {
  const { status, problem, refresh, mustChangePassword, isExpired } = useSession()
  const { pathname, href, search } = useLocation()
  const { history } = useRouter()
  // While the page of a new address loads, the outlet still shows the page before, which would ask without a session.
  const isArriving = useRouterState({ select: ({ matches }) => matches.at(-1)?.pathname !== pathname })
  const go = useGo()
  useHeartbeat()
  const shown = pageAt(pathname)
  const isOpenPage = shown !== undefined && (pages[shown] as Page).isOpen === true

  let wanted: PageId | null = null
  if (status?.securityEnabled) {
    if (status.setupRequired) wanted = 'setup'
    else if (status.user === undefined && !isExpired) wanted = 'signIn'
    else if (mustChangePassword) wanted = 'password'
    else if (shown === 'setup') wanted = 'overview'
  } else if (status !== undefined && isOpenPage) wanted = 'overview'
  // The user is signed in: back to the page that was asked for.
  const back = shown === 'signIn' && wanted === null ? ownAddress((search as { readonly to?: string }).to) : null
  const mustMove = wanted !== null && wanted !== shown
  const isOverview = wanted === 'overview' || pathname === '/'

  useEffect(() => {
    if (back !== null) history.replace(back)
    if (!mustMove || wanted === null) return
    const way = wanted === 'signIn' && !isOverview && !isOpenPage ? { to: href } : {}
    go({ page: wanted, search: way } as never, { replace: true })
  })

  if (status === undefined)
    return (
      <Bare>
        {problem === null ? (
          <Skeleton rows={6} />
        ) : (
          <ProblemNote problem={problem} of="The console" onRetry={() => void refresh().catch(() => {})} />
        )}
      </Bare>
    )
  const isBare = isOpenPage || mustChangePassword
  if (mustMove || back !== null || (isBare && isArriving)) return <Bare>{null}</Bare>
  if (isBare)
    return (
      <Bare>
        <Suspense fallback={<Skeleton rows={6} />}>
          <Outlet />
        </Suspense>
        <Toasts />
      </Bare>
    )
  return (
    <>
      <Frame />
      {isExpired && <SessionDialog />}
    </>
  )
}

/** A page without navigation: sign-in, setup, and while the broker is not there. */
function Bare({ children }: { readonly children: ReactNode }) {
  return (
    <>
      <AwayBanner />
      <main className="mx-auto w-full max-w-dialog p-4 pt-12">{children}</main>
    </>
  )
}

// Messages above every page: the broker is away, it serves a newer console, access is open, or the password is the one
// that Ketch ships.

import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from '../parts/button.tsx'
import { Time } from '../parts/time.tsx'
import { PageLink } from './address.tsx'
import { useConnection } from './connection.ts'
import { useNewerBuild } from './newer-build.ts'
import { useSession } from './session.tsx'

function Banner({
  tone,
  name,
  children,
}: {
  readonly tone: 'warn' | 'danger'
  readonly name: string
  readonly children: ReactNode
}) {
  return (
    <div
      data-banner={name}
      className={`flex items-start gap-2 px-4 py-2 ${tone === 'danger' ? 'bg-danger-soft text-danger' : 'bg-warn-soft text-warn'}`}
    >
      <TriangleAlert size={18} aria-hidden className="mt-px shrink-0" />
      <div>{children}</div>
    </div>
  )
}

/** Says that the broker, or its store, does not answer. */
export function AwayBanner() {
  const { trouble, answeredAtMs } = useConnection()
  return (
    <div role="alert">
      {trouble !== null && (
        <Banner tone="danger" name="away">
          {trouble.problem.detail}
          {answeredAtMs > 0 && (
            <>
              {' '}
              The last answer came at <Time ms={answeredAtMs} isShort />. The console tries again every second.
            </>
          )}
        </Banner>
      )}
    </div>
  )
}

export function Banners() {
  const { status } = useSession()
  const isNewer = useNewerBuild()
  return (
    <>
      <AwayBanner />
      {isNewer && (
        <Banner tone="warn" name="newer-build">
          <span className="mr-3">The broker serves a newer console than this page.</span>
          <Button isSmall onClick={() => location.reload()}>
            Reload
          </Button>
        </Banner>
      )}
      {status?.securityEnabled === false && (
        <Banner tone="warn" name="open-access">
          Open access: everybody who can reach this address is an administrator.
        </Banner>
      )}
      {status?.passwordChangeRequired === true && (
        <Banner tone="warn" name="shipped-password">
          You sign in with the password that Ketch ships.{' '}
          <PageLink page="password" className="text-accent underline underline-offset-2">
            Change it
          </PageLink>
          : until then the broker refuses this user everything else from another machine.
        </Banner>
      )}
    </>
  )
}

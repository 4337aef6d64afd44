// The frame of every page: the way to the content, the navigation, the controls of updates and account, the palette and
// the help.

import { Outlet, useLocation } from '@tanstack/react-router'
import { Menu, Search } from 'lucide-react'
import { useMemo, useState } from 'react'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { AccountButton } from './account-button.tsx'
import { PageLink } from './address.tsx'
import { Banners } from './banners.tsx'
import { useCapabilities } from './capabilities.ts'
import { Navigation } from './navigation.tsx'
import { Palette } from './palette.tsx'
import { RefreshControl } from './refresh.tsx'
import { type Overlay, ShellContext, useShell } from './shell.ts'
import { useShortcuts } from './shortcuts.tsx'
import { Toasts } from './toasts.tsx'

const Help = lazyPart(async () => (await import('./help.tsx')).Help)

export function Frame() {
  const [overlay, setOverlay] = useState<Overlay | null>(null)
  const shell = useMemo(() => ({ overlay, open: setOverlay }), [overlay])
  return (
    <ShellContext value={shell}>
      <Bars />
    </ShellContext>
  )
}

/** The headings of the page. A record that is the page on a phone hides the one of its list. */
const headings = () => [...document.querySelectorAll<HTMLElement>('main h1')]

function Bars() {
  const { pathname } = useLocation()
  const { overlay, open } = useShell()
  useShortcuts()
  // Every page needs them, and a user who must change the password learns it by this request.
  useCapabilities()
  const close = () => open(null)
  return (
    <div className="flex min-h-dvh flex-col">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-40 focus:rounded-control focus:bg-surface focus:p-3"
        onClick={() =>
          headings()
            .find(each => each.checkVisibility())
            ?.focus()
        }
      >
        Go to the content
      </button>
      <header className="sticky top-0 z-20 flex min-h-12 items-center border-b border-line bg-surface px-1 sm:gap-2 sm:px-4">
        <div className="md:hidden">
          <Button kind="quiet" icon={Menu} onClick={() => open('navigation')}>
            Menu
          </Button>
        </div>
        <PageLink
          page="overview"
          className="mr-auto px-1 text-section whitespace-nowrap max-sm:px-0 font-semibold text-text"
        >
          Ketch
        </PageLink>
        <Button kind="quiet" icon={Search} onClick={() => open('palette')}>
          <span className="sr-only">Go to, or do: </span>
          <span className="text-muted max-lg:sr-only">Ctrl K</span>
        </Button>
        <RefreshControl />
        <AccountButton />
      </header>
      <Banners />
      <div className="mx-auto flex w-full max-w-page grow">
        <aside className="w-56 shrink-0 border-r border-line max-md:hidden">
          <div className="sticky top-12 p-3">
            <Navigation path={pathname} />
          </div>
        </aside>
        <main id="content" className="min-w-0 grow p-4 md:p-6">
          <Outlet />
        </main>
      </div>
      <Toasts />
      {overlay === 'palette' && <Palette onClose={close} />}
      {overlay === 'help' && <Help onClose={close} />}
      {overlay === 'navigation' && (
        <Dialog title="Menu" onClose={close}>
          <Navigation path={pathname} onLeave={close} />
        </Dialog>
      )}
    </div>
  )
}

// The parts of a page, as links: the chosen one is in the address, so that Back and a shared address work.

import type { PageId } from '../../src/api/pages.ts'
import { PageLink, type Target } from '../shell/address.tsx'

interface Tab<Id extends PageId> extends Target<Id> {
  readonly label: string
  readonly isCurrent: boolean
}

/** On a phone the chosen tab may lie beyond the edge. */
const show = (tab: HTMLElement | null) => tab?.scrollIntoView({ block: 'nearest' })

/** `of` names the thing whose parts these are. */
export function Tabs({ tabs, of }: { readonly tabs: readonly Tab<PageId>[]; readonly of: string }) {
  return (
    <nav aria-label={`Parts of ${of}`} tabIndex={-1} className="mb-4 overflow-x-auto border-b border-line">
      <ul className="flex gap-1">
        {tabs.map(({ label, isCurrent, page, params, search }) => (
          <li key={label} ref={isCurrent ? show : null}>
            <PageLink
              page={page}
              {...(params === undefined ? {} : { params })}
              {...(search === undefined ? {} : { search })}
              isCurrent={isCurrent}
              className={`-mb-px inline-flex min-h-9 items-center border-b-2 px-3 whitespace-nowrap max-sm:min-h-11 ${isCurrent ? 'border-accent font-medium text-text' : 'border-transparent text-muted hover:text-text'}`}
            >
              {label}
            </PageLink>
          </li>
        ))}
      </ul>
    </nav>
  )
}
